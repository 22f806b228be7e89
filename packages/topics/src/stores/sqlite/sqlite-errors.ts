import { accessSync, constants } from 'node:fs'
import { dirname } from 'node:path'
import {
  DatabaseError,
  DatabaseFullError,
  DatabaseLockedError,
  DatabaseReadOnlyError,
  DatabaseUnreachableError,
  TidemarkError,
} from '../../errors.ts'

/** SQLite's primary result codes (the low byte of an extended one). */
const BUSY = 5
const LOCKED = 6
const READONLY = 8
const IOERR = 10
const CORRUPT = 11
const FULL = 13
/** The extended code of a disk with no room for the index of the WAL. */
const IOERR_SHMSIZE = 4_874
const CANTOPEN = 14
const NOTADB = 26

export const isBusy = (error: unknown): boolean => {
  const code = primaryCode(error)
  return code === BUSY || code === LOCKED
}

/** Maps errors of SQLite and the file system to Tidemark's; Tidemark's own pass unchanged. */
export function mapError(error: unknown, path: string, waitedMs = 0): unknown {
  if (error instanceof TidemarkError) return error
  if (codeOf(error) === IOERR_SHMSIZE) return new DatabaseFullError(path, error)
  switch (primaryCode(error)) {
    case BUSY:
    case LOCKED:
      return new DatabaseLockedError(path, Math.round(waitedMs), error)
    case READONLY:
      return new DatabaseReadOnlyError(path, error)
    case FULL:
      return new DatabaseFullError(path, error)
    case CANTOPEN:
      return isReadOnlyFolder(path) ? new DatabaseReadOnlyError(path, error) : new DatabaseUnreachableError(path, error)
    case CORRUPT:
    case NOTADB:
      return new DatabaseError(
        `The file at ${path} is damaged or is not a SQLite database. Restore it from a backup, or name another file`,
        error,
      )
    case IOERR:
      return new DatabaseError(`Reading or writing ${path} failed. Check the disk`, error)
  }
  switch ((error as NodeJS.ErrnoException | null)?.code) {
    case 'EACCES':
    case 'EROFS':
    case 'EPERM':
      return new DatabaseReadOnlyError(path, error)
    case 'ENOSPC':
      return new DatabaseFullError(path, error)
    case 'EEXIST':
    case 'ENOTDIR':
      return new DatabaseUnreachableError(path, error)
    case 'EIO':
      return new DatabaseError(`Reading or writing ${path} failed. Check the disk`, error)
    case 'ERR_SQLITE_ERROR':
    case 'SQLITE_ERROR':
      return new DatabaseError(`SQLite refused a statement on ${path}: ${(error as Error).message}`, error)
  }
  return error
}

function isReadOnlyFolder(path: string): boolean {
  const folder = dirname(path)
  try {
    accessSync(folder, constants.F_OK)
  } catch {
    return false
  }
  try {
    accessSync(folder, constants.W_OK)
    return false
  } catch {
    return true
  }
}

/** Names of the codes in libraries that give no numbers. */
const CODES: Record<string, number> = { IOERR_SHMSIZE, BUSY, LOCKED, READONLY, IOERR, CORRUPT, FULL, CANTOPEN, NOTADB }

function primaryCode(error: unknown): number | undefined {
  const code = codeOf(error)
  return code === undefined ? undefined : code & 0xff
}

/** The extended code, where the library gives it. */
function codeOf(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null) return undefined
  const { errcode, rawCode, code } = error as { errcode?: unknown; rawCode?: unknown; code?: unknown }
  const number = errcode ?? rawCode
  if (typeof number === 'number') return number
  const [, name, kind] = typeof code === 'string' ? (/^SQLITE_(([A-Z]+)\w*)/.exec(code) ?? []) : []
  return CODES[name ?? ''] ?? CODES[kind ?? '']
}
