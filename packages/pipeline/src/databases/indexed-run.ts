import type { SimulationMetadata } from '../contracts/tick.ts'
import type { IndexDatabase } from './index-database.ts'
import { numbered } from './sql/dialect.ts'

/** A run that is indexed or read. */
export type IndexedRun = {
  /** Id of the run. */
  readonly runId: string
  /** Index of the run. */
  readonly database: IndexDatabase
  /** Metadata of the run, or null without the `metadata` component or before it is stored. */
  readonly metadata: SimulationMetadata | null
  /** SQL for both engines: `?` for values, `run.` before the names of tables. */
  sql(text: string): string
}

export const indexedRun = (database: IndexDatabase, metadata: SimulationMetadata | null): IndexedRun => ({
  runId: database.runId,
  database,
  metadata,
  sql: numbered,
})
