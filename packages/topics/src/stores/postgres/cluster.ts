import { DatabaseRestoredError } from '../../errors.ts'
import type { Statements } from './transaction.ts'

const STATE = 'select tidemark_fn.cluster_state() as state'

/** Refuses a namespace whose positions are another cluster's; notes where it is when that is new. */
export async function requireOwnCluster(statements: Statements): Promise<void> {
  const [row] = await statements.query(statements.sql(STATE))
  if (row?.state === 'same') return
  if (row?.state === 'restored') throw new DatabaseRestoredError(`${statements.location} (schema ${statements.schema})`)
  await statements.query(statements.sql('select tidemark_fn.note_cluster()'))
}
