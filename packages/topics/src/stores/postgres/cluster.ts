import { DatabaseRestoredError } from '../../errors.ts'
import type { Statements } from './transaction.ts'

const STATE = 'select tidemark_fn.cluster_state() as state'

/** Refuses a namespace whose cursors belong to another cluster; records the cluster of a new one. */
export async function requireOwnCluster(statements: Statements): Promise<void> {
  const [row] = await statements.query(statements.sql(STATE))
  if (row?.state === 'same') return
  if (row?.state === 'restored') throw new DatabaseRestoredError(`${statements.location} (schema ${statements.schema})`)
  await statements.query(statements.sql('select tidemark_fn.note_cluster()'))
}
