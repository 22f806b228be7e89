import type { SimulationMetadata } from '../contracts/tick.ts'
import type { IndexDatabase } from './index-database.ts'
import { numbered } from './sql/dialect.ts'

/** The run that is indexed, or read. */
export type IndexedRun = {
  readonly runId: string
  readonly database: IndexDatabase
  /** null where it isn't known: without the `metadata` component, or when it has not come yet. */
  readonly metadata: SimulationMetadata | null
  /** One text for both engines: `?` for values, `run.` before the names of tables. */
  sql(text: string): string
}

export const indexedRun = (database: IndexDatabase, metadata: SimulationMetadata | null): IndexedRun => ({
  runId: database.runId,
  database,
  metadata,
  sql: numbered,
})
