import type { SqliteStatement } from './driver.ts'

/** SQLite's own sentences; 'quick_check' leaves out whether indexes match their tables. */
export function integrityProblems(
  prepare: (sql: string) => SqliteStatement,
  check: 'quick_check' | 'integrity_check',
): string[] {
  const rows = prepare(`pragma ${check}(20)`).all() as Record<string, unknown>[]
  return rows.map(row => String(row[check])).filter(text => text !== 'ok')
}
