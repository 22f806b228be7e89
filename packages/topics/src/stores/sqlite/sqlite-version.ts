import { DatabaseVersionError } from '../../errors.ts'
import { rowOf } from './rows.ts'
import type { Prepare } from './transaction.ts'

/** Older versions can corrupt a WAL database when a write and a checkpoint coincide. */
export const OLDEST_SQLITE = [3, 51, 3] as const

export const olderError = ({ name }: { readonly name: string }, version: string): DatabaseVersionError =>
  new DatabaseVersionError(
    `The SQLite of ${name === 'node:sqlite' ? 'this Node' : name} is ${version}, which has a bug that can corrupt a database; ` +
      `Tidemark needs ${OLDEST_SQLITE.join('.')} or later. Update ${name === 'node:sqlite' ? 'Node' : name}`,
  )

/** Another process may have turned the WAL on since the file was opened. */
export function requireNoWal(prepare: Prepare, path: string, driver: { readonly name: string }): void {
  const mode = rowOf<{ journal_mode: string }>(prepare('pragma journal_mode'))
  if (mode?.journal_mode === 'wal') throw walError(path, driver)
}

/** With such a SQLite a checkpoint could corrupt the file. */
export const walError = (path: string, { name }: { readonly name: string }): DatabaseVersionError =>
  new DatabaseVersionError(
    `${path} has a write-ahead log, which another process opened it with, and the SQLite of ${name} is too old to be ` +
      `trusted with one. Close it there, or open it with the same library everywhere`,
  )

export function isAtLeast(version: string, oldest: readonly number[]): boolean {
  const parts = version.split('.').map(Number)
  for (const [index, least] of oldest.entries()) {
    const part = parts[index] ?? 0
    if (part !== least) return part > least
  }
  return true
}
