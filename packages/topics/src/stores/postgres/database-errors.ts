import { reasonOf } from '../../errors/failure.ts'
import {
  DatabaseError,
  DatabaseFullError,
  DatabaseLockedError,
  DatabaseReadOnlyError,
  DatabaseTimeoutError,
  DatabaseUnreachableError,
  OutcomeUnknownError,
  TidemarkError,
} from '../../errors.ts'

/** Timeout for locks that should not be waited for long. */
export const LOCK_TIMEOUT_MS = 5_000

/** SQLSTATEs of a server that cannot serve now: shutting down, starting, recovering, or out of connections. */
const UNREACHABLE = new Set(['57P01', '57P02', '57P03', '57P05', '25P03', '53300'])
const UNREACHABLE_SYSTEM =
  /^(ECONN|ENOTFOUND|ETIMEDOUT|EPIPE|EHOSTUNREACH|ENETUNREACH|EAI_AGAIN|ENOENT|EACCES|ERR_SOCKET|ERR_STREAM|TIDEMARK_NOT_CONNECTED|CONNECTION_|CONNECT_TIMEOUT)/
/** The server cancelled the statement: it exceeded statement_timeout, or somebody asked for it. */
const CANCELLED = '57014'
const FULL = new Set(['53100', '53200'])
const REFUSED: Record<string, string> = {
  '28P01': 'The password is wrong. Check the user and password of the URL',
  '28000': 'The server refuses this user. Check the user of the URL, and pg_hba.conf on the server',
  '3D000': 'The database does not exist. Create it, or correct its name in the URL',
  '42501': 'The user lacks a right. Grant it CREATE on the database, or let an administrator create the schema for it',
}

/** Maps driver errors to Tidemark errors. */
export function mapError(error: unknown, location: string, limitMs = 0): TidemarkError {
  if (error instanceof TidemarkError) return error
  if (error instanceof CommitError) {
    const mapped = mapError(error.cause, location, limitMs)
    const isUndone = isFromServer(error.cause) && !(mapped instanceof DatabaseUnreachableError)
    return isUndone ? mapped : OutcomeUnknownError.afterLostConnection(location, error.cause)
  }
  const code = codeOf(error)
  if (isUnreachable(error, code)) return new DatabaseUnreachableError(location, error)
  if (code === '25006') return new DatabaseReadOnlyError(location, error)
  if (code === '55P03') return new DatabaseLockedError(location, LOCK_TIMEOUT_MS, error)
  if (code === CANCELLED) return new DatabaseTimeoutError(location, limitMs, error)
  if (FULL.has(code)) return new DatabaseFullError(location, error)
  const text = reasonOf(error)
  const advice = REFUSED[code]
  return new DatabaseError(`The database at ${location} failed: ${text}${advice ? `. ${advice}` : ''}`, error)
}

/** The statement may have been executed: the connection existed, and broke. */
function isAnswerLost(error: TidemarkError): boolean {
  const { cause } = error
  if (error.code !== 'TIDEMARK_DATABASE_UNREACHABLE') return false
  const code = codeOf(cause)
  return code === '' ? !NOT_CONNECTED.test(cause instanceof Error ? cause.message : '') : !NOT_CONNECTED_CODE.test(code)
}

/** Not if nothing was sent, or the server said why it rolled the statement back. */
export function mayHaveHappened(error: unknown): boolean {
  if (!(error instanceof TidemarkError) || error instanceof OutcomeUnknownError) return true
  if (error instanceof DatabaseUnreachableError) return isAnswerLost(error)
  return !isFromServer(error.cause)
}

/** For a statement that writes and commits by itself. */
export function unknownIfLost(error: unknown, location: string): unknown {
  const isLost = error instanceof DatabaseUnreachableError && isAnswerLost(error)
  return isLost ? OutcomeUnknownError.afterLostConnection(location, error.cause) : error
}

/** A COMMIT was sent, and failed or was not answered. */
export class CommitError extends Error {
  constructor(cause: unknown) {
    super('The COMMIT failed', { cause })
    this.name = 'CommitError'
  }
}

export const isFromServer = (error: unknown): boolean => SQLSTATE.test(codeOf(error))

/** The code of an error reported by the server itself. */
const SQLSTATE = /^(\d[0-9A-Z]|F0|HV|P0|XX)[0-9A-Z]{3}$/

/** No connection was available, so nothing was sent. */
export class NotConnectedError extends Error {
  readonly code = 'TIDEMARK_NOT_CONNECTED'

  constructor(message: string, cause?: unknown) {
    super(message, { cause })
    this.name = 'NotConnectedError'
  }
}

/** No connection was made, so nothing was sent. */
const NOT_CONNECTED =
  /^(timeout exceeded when trying to connect|timeout expired|The server does not support SSL|Cannot use a pool after)/
const NOT_CONNECTED_CODE =
  /^(ECONNREFUSED|ENOTFOUND|EHOSTUNREACH|ENETUNREACH|EAI_AGAIN|ENOENT|EACCES|57P03|53300|0800[14]|TIDEMARK_NOT_CONNECTED|CONNECTION_ENDED|CONNECT_TIMEOUT)/

/** The SQLSTATE or system code of an error; '' if it has none. */
export function codeOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0])
  if (typeof error !== 'object' || error === null || !('code' in error)) return ''
  return typeof error.code === 'string' ? error.code : ''
}

/**
 * SQLSTATEs of a statement whose tables, functions or types are missing or differ from those it was prepared for, or
 * were dropped while it ran.
 */
const MISSING = new Set(['42P01', '42883', '42704', '42703', '3F000', '0A000', 'XX000'])

export const mayBeGone = (error: unknown): boolean => MISSING.has(codeOf(error))

/**
 * The functions of this version were missing and have been restored. The statement that missed them was rolled back.
 */
export class FunctionsRestoredError extends DatabaseError {
  constructor(location: string, cause: unknown) {
    super(
      `The functions of this version were missing at ${location}, and have been installed again. Repeat the call`,
      cause,
    )
  }
}

/** Two transactions conflicted, and the server rolled this one back. */
export const isTransient = (error: unknown): boolean => ['40P01', '40001'].includes(codeOf(error))

function isUnreachable(error: unknown, code: string): boolean {
  if (code === '') return error instanceof Error && LOST_CONNECTION.test(error.message)
  return UNREACHABLE.has(code) || code.startsWith('08') || UNREACHABLE_SYSTEM.test(code)
}

/** `pg` gives no code to a connection that broke or could not be made, only these words. */
const LOST_CONNECTION =
  /^(Connection terminated|Client has encountered a connection error|Client was closed|timeout exceeded when trying to connect|timeout expired|The server does not support SSL|Cannot use a pool after)/
