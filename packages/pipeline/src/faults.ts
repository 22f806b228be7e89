/**
 * Distinguishes causes of errors. An environment fault (an unreachable database, an unmounted storage, a missing
 * permission, a full disk) says nothing about the batch: it is waited for, however long it takes. Any other fault
 * belongs to the batch (corrupt, refused, of another run) and counts as one of its attempts.
 */
import { CodedError } from 'tidemark'

/** What is unavailable, by code, for people. Longer prefixes first. */
const AWAY: readonly (readonly [prefix: string, what: string])[] = [
  ['TIDEMARK_DATABASE_FULL', 'disk space for the topics database'],
  ['TIDEMARK_DATABASE', 'the topics database'],
  ['TIDEMARK_HEARTBEAT', 'the topics database'],
  ['TIDEMARK_OUTCOME_UNKNOWN', 'the topics database'],
  ['TIDEMARK_MESSAGE_ID_PENDING', 'another transaction on the topics database'],
  ['TIDEMARK_INDEX_UNREACHABLE', 'the index database'],
  ['TIDEMARK_INDEX_UNAVAILABLE', 'the index database'],
  ['TIDEMARK_INDEX_GONE', 'the index database'],
  ['TIDEMARK_INDEX_LOCKED', 'the index database, which another process holds locked'],
  ['TIDEMARK_INDEX_FULL', 'disk space for the index database'],
  ['TIDEMARK_INDEX_READ_ONLY', 'write access to the index database'],
  ['TIDEMARK_FOLDER_UNUSABLE', 'write access to a folder'],
  ['TIDEMARK_STORAGE_FULL', 'disk space for the storage'],
  ['TIDEMARK_STORAGE_AWAY', 'the storage'],
  ['TIDEMARK_STORAGE_ACCESS', 'credentials that the storage accepts'],
  ['TIDEMARK_STORAGE_BUCKET', 'the bucket of the storage'],
  ['TIDEMARK_STORAGE', 'the storage'],
]

/** Waiting does not cure these: another program version or server is needed, or something else has that name. */
const NEVER_CURED = new Set(['TIDEMARK_DATABASE_VERSION', 'TIDEMARK_STORAGE_CONFLICT', 'TIDEMARK_STORAGE_UNSUITABLE'])

/** A missing file is not included: the storage itself distinguishes a missing file from a missing mount. */
const SYSTEM = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'ECONNABORTED', 'ENOTCONN', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN'],
  ...['EHOSTUNREACH', 'EHOSTDOWN', 'ENETUNREACH', 'ENETDOWN', 'ENETRESET'],
  ...['ENOSPC', 'EDQUOT', 'EROFS', 'EACCES', 'EPERM', 'EIO', 'ESTALE', 'ENODEV', 'ENXIO', 'EBUSY'],
  ...['EMFILE', 'ENFILE', 'ENOMEM', 'ENOBUFS'],
])

/** SQLSTATEs: connection, resources, shutdown, input and output; read-only, credentials, a missing database. */
const SQLSTATE = /^(08...|53...|57P..|58...|28...|25006|3D000|55P03)$/

/** SQLite's primary codes: PERM, BUSY, LOCKED, NOMEM, READONLY, IOERR, CORRUPT, FULL, CANTOPEN, PROTOCOL, NOTADB. */
const SQLITE = new Set([3, 5, 6, 7, 8, 10, 11, 13, 14, 15, 26])

const DEEPEST_CAUSE = 5

/**
 * Whether an error is caused by the environment (an unreachable database, a full disk), so that repeating the work
 * may succeed.
 *
 * @example
 * try {
 *   await pipeline.look()
 * } catch (error) {
 *   if (!isEnvironmentFault(error)) throw error
 * }
 */
export const isEnvironmentFault = (error: unknown): boolean => awayBy(error) !== undefined

/** Environment faults that end only when the resource is opened again. */
export const isGone = (error: unknown): boolean => (error as { code?: unknown } | null)?.code === 'TIDEMARK_INDEX_GONE'

/** What a service with this fault waits for, for people. */
export const whatIsAway = (error: unknown): string => awayBy(error) ?? 'its surroundings'

function awayBy(error: unknown, depth = 0): string | undefined {
  if (typeof error !== 'object' || error === null || depth > DEEPEST_CAUSE) return undefined
  const { code, errcode, message, cause } = error as Record<string, unknown>
  if (typeof code === 'string') {
    if (NEVER_CURED.has(code)) return undefined
    const away = AWAY.find(([prefix]) => code.startsWith(prefix))
    if (away !== undefined) return away[1]
  }
  // Our own errors are conclusive; their cause no longer matters.
  if (error instanceof CodedError) return undefined
  const isSystem = typeof code === 'string' && (SYSTEM.has(code) || SQLSTATE.test(code))
  const isSqlite = typeof errcode === 'number' && SQLITE.has(errcode & 0xff)
  return isSystem || isSqlite ? String(message) : awayBy(cause, depth + 1)
}
