import type { RepairReport } from '../repair-report.ts'
import type { Connection } from './connection.ts'
import { integrityProblems } from './integrity.ts'

/** A restored file is a whole one: there is only its integrity to look at, and indexes to be built anew. */
export async function repair(connection: Connection): Promise<RepairReport> {
  const look = (): Promise<string[]> =>
    connection.read(tx => integrityProblems(sql => tx.prepare(sql), 'integrity_check'))
  const location = connection.path
  const problems = await look()
  if (problems.length === 0) return { location, problems, changes: [], mended: true }
  // What is wrong with an index alone can be made good from its table; anything else stays, and is told.
  const rebuilt = await connection
    .write(true, () => connection.exec('reindex'))
    .then(
      () => true,
      () => false,
    )
  const changes = rebuilt ? ['The indexes were built anew'] : []
  return { location, problems, changes, mended: rebuilt && (await look()).length === 0 }
}
