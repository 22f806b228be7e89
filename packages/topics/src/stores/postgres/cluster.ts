import { DatabaseRestoredError } from '../../errors.ts'
import type { Database } from './database.ts'

const STATE = 'select tidemark_fn.cluster_state() as state'

/** Refuses a namespace whose positions are another cluster's; notes where it is when that is new. */
export async function requireOwnCluster(database: Database): Promise<void> {
  const [row] = await database.query(database.sql(STATE))
  if (row?.state === 'same') return
  if (row?.state === 'restored') throw new DatabaseRestoredError(`${database.location} (schema ${database.schema})`)
  await database.query(database.sql('select tidemark_fn.note_cluster()'))
}
