import { CodedError } from 'tidemark'
import {
  IndexDatabaseError,
  IndexFullError,
  IndexGoneError,
  IndexLockedError,
  IndexReadOnlyError,
  IndexUnavailableError,
  IndexUnreachableError,
} from '../errors.ts'

/** SQLSTATEs of a server that can't be used now: shutting down, starting, recovering, or out of connections. */
const UNREACHABLE = new Set(['57P01', '57P02', '57P03', '57P04', '57P05', '53300'])
const UNREACHABLE_SYSTEM =
  /^(ECONN|ENOTFOUND|ETIMEDOUT|EPIPE|EHOSTUNREACH|ENETUNREACH|EAI_AGAIN|ENOENT|EACCES|ERR_SOCKET|ERR_STREAM)/
const FULL = new Set(['53100', '53200'])
const LOCKED = '55P03'
const READ_ONLY = '25006'
const REFUSED: Record<string, string> = {
  '28P01': 'The password is wrong. Check the user and password of the address',
  '28000': 'The server refuses this user. Check the user of the address, and pg_hba.conf on the server',
  '3D000': 'The database does not exist. Create it, or correct its name in the address',
  '42501': 'The user lacks a right. Grant it CREATE on the database, or let an administrator create the schema for it',
}
/** A table or the schema is missing. */
const GONE = new Set(['42P01', '3F000'])
/** Besides refused connections: a cancelled statement, a failing disk, damaged files, or a lack of memory. */
const UNAVAILABLE = /^(57014|58...|53...|XX00[12])$/

/** A conflict between two transactions; the server rolled this one back. */
export const isTransient = (error: unknown): boolean => ['40P01', '40001'].includes(codeOf(error))

/** The prepared statement does not exist or belongs to another client of the same connection. */
export const isStatementLost = (error: unknown): boolean => ['26000', '42P05'].includes(codeOf(error))

/** Maps every error of the driver. */
export function mapError(error: unknown, location: string, waitedMs = 0): CodedError {
  if (error instanceof CodedError) return error
  const code = codeOf(error)
  if (isUnreachable(error, code)) return new IndexUnreachableError(location, error)
  if (code === READ_ONLY) return new IndexReadOnlyError(location, error)
  if (code === LOCKED) return new IndexLockedError(location, waitedMs, error)
  if (FULL.has(code)) return new IndexFullError(location, error)
  if (GONE.has(code)) return new IndexGoneError(location, error)
  const text = error instanceof Error ? error.message : String(error)
  const advice = REFUSED[code]
  const message = `The index database at ${location} failed: ${text}${advice ? `. ${advice}` : ''}`
  const isUnavailable = advice !== undefined || UNAVAILABLE.test(code)
  return isUnavailable ? new IndexUnavailableError(message, error) : new IndexDatabaseError(message, error)
}

/** SQLSTATE or system code of an error, or ''. */
function codeOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0])
  if (typeof error !== 'object' || error === null || !('code' in error)) return ''
  return typeof error.code === 'string' ? error.code : ''
}

function isUnreachable(error: unknown, code: string): boolean {
  if (code === '') return error instanceof Error && LOST_CONNECTION.test(error.message)
  return UNREACHABLE.has(code) || code.startsWith('08') || UNREACHABLE_SYSTEM.test(code)
}

/** `pg` reports a broken or failed connection without a code, only with these texts. */
const LOST_CONNECTION =
  /^(Connection terminated|Client has encountered a connection error|Client was closed|timeout exceeded when trying to connect|timeout expired|Query read timeout|The server does not support SSL|Cannot use a pool after)/
