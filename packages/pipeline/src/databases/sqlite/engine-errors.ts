import { accessSync, constants } from 'node:fs'
import { dirname } from 'node:path'
import { CodedError } from 'tidemark'
import {
  IndexDatabaseError,
  IndexFileAwayError,
  IndexFullError,
  IndexLockedError,
  IndexReadOnlyError,
  IndexUnavailableError,
} from '../errors.ts'

/** SQLite's primary result codes (the low byte of an extended one). */
const PERM = 3
const BUSY = 5
const LOCKED = 6
const NOMEM = 7
const READONLY = 8
const IOERR = 10
const CORRUPT = 11
const FULL = 13
const CANTOPEN = 14
const PROTOCOL = 15
const NOTADB = 26

export const isBusy = (error: unknown): boolean => {
  const code = primaryCode(error)
  return code === BUSY || code === LOCKED
}

/** Maps errors of SQLite and the file system; errors of the caller's own work are passed on unchanged. */
export function mapError(error: unknown, path: string, waitedMs = 0): unknown {
  if (error instanceof CodedError) return error
  switch (primaryCode(error)) {
    case BUSY:
    case LOCKED:
      return new IndexLockedError(path, Math.round(waitedMs), error)
    case READONLY:
      return new IndexReadOnlyError(path, error)
    case FULL:
      return new IndexFullError(path, error)
    case CANTOPEN:
      return isReadOnlyFolder(path) ? new IndexReadOnlyError(path, error) : new IndexFileAwayError(path, error)
    case CORRUPT:
    case NOTADB:
      return new IndexUnavailableError(
        `The file at ${path} is damaged or is not a SQLite database. Drop this index so that it is rebuilt`,
        error,
      )
    case PERM:
    case NOMEM:
    case IOERR:
    case PROTOCOL:
      return new IndexUnavailableError(`Reading or writing ${path} failed. Check the disk and its permissions`, error)
  }
  switch ((error as NodeJS.ErrnoException | null)?.code) {
    case 'EACCES':
    case 'EROFS':
    case 'EPERM':
      return new IndexReadOnlyError(path, error)
    case 'ENOSPC':
    case 'EDQUOT':
      return new IndexFullError(path, error)
    case 'EIO':
    case 'ESTALE':
    case 'ENOENT':
    case 'EEXIST':
    case 'ENOTDIR':
      return new IndexFileAwayError(path, error)
    case 'ERR_SQLITE_ERROR':
      return new IndexDatabaseError(`SQLite refused a statement on ${path}: ${(error as Error).message}`, error)
  }
  return error
}

function isReadOnlyFolder(path: string): boolean {
  const folder = dirname(path)
  return isAllowed(folder, constants.F_OK) && !isAllowed(folder, constants.W_OK)
}

function isAllowed(folder: string, mode: number): boolean {
  try {
    accessSync(folder, mode)
    return true
  } catch {
    return false
  }
}

function primaryCode(error: unknown): number | undefined {
  const code = (error as { errcode?: unknown } | null)?.errcode
  return typeof code === 'number' ? code & 0xff : undefined
}
