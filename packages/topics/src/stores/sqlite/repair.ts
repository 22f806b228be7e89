import type { RepairReport } from '../repair-report.ts'
import type { Connection } from './connection.ts'
import { integrityProblems } from './integrity.ts'

/** A restored file is always complete, so only its integrity is checked and indexes are rebuilt. */
export async function repair(connection: Connection): Promise<RepairReport> {
  const look = (): Promise<string[]> =>
    connection.read(tx => integrityProblems(sql => tx.prepare(sql), 'integrity_check'))
  const location = connection.path
  const problems = await look()
  if (problems.length === 0) return { location, problems, changes: [], mended: true }
  // A damaged index can be rebuilt from its table; any other damage stays and is reported.
  const rebuilt = await connection
    .write(true, () => connection.exec('reindex'))
    .then(
      () => true,
      () => false,
    )
  const changes = rebuilt ? ['The indexes were built anew'] : []
  return { location, problems, changes, mended: rebuilt && (await look()).length === 0 }
}
