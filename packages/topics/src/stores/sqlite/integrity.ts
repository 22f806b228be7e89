import type { SqliteStatement } from './driver.ts'

/** SQLite's own messages; 'quick_check' does not check indexes against their tables. */
export function integrityProblems(
  prepare: (sql: string) => SqliteStatement,
  check: 'quick_check' | 'integrity_check',
): string[] {
  const rows = prepare(`pragma ${check}(20)`).all() as Record<string, unknown>[]
  return rows.map(row => String(row[check])).filter(text => text !== 'ok')
}
