import { DatabaseSync } from 'node:sqlite'

/** As if no job had run for so long. */
export function ageJobs(file: string, ms: number): void {
  const database = new DatabaseSync(file)
  database.prepare('update tidemark_job set succeeded_at = succeeded_at - ?1, started_at = started_at - ?1').run(ms)
  database.close()
}
