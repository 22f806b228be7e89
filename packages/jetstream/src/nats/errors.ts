import { DatabaseError, DatabaseFullError, DatabaseUnreachableError } from 'tidemark'

/** Another writer was faster: what this write was based on has changed. Nothing was stored. */
export class Conflict extends Error {}

/** The server did not answer, or has no leader: whether the write was stored is unknown. */
export class NoAnswer extends Error {}

/** The stream does not exist, or nothing listens to the subject. */
export class StreamGone extends Error {}

/** There is a stream of this name with other settings. */
export class StreamExists extends Error {}

/** The server has dropped a batch, because too many are half-sent. Nothing was stored. */
export class BatchDropped extends Error {}

export type ApiError = { readonly code: number; readonly err_code?: number; readonly description?: string }

const WRONG_SEQUENCE = new Set([10_071, 10_164])
const STREAM_NOT_FOUND = 10_059
const STREAM_EXISTS = 10_058
const BATCH_INCOMPLETE = 10_176
/** No space, or a limit of the stream, the account or the server. */
const FULL = new Set([10_023, 10_047, 10_028, 10_110, 10_077])

export function errorOf(error: ApiError, where: string): Error {
  const { err_code = 0, description = 'unknown error', code } = error
  if (WRONG_SEQUENCE.has(err_code)) return new Conflict(description)
  if (err_code === STREAM_NOT_FOUND) return new StreamGone(description)
  if (err_code === STREAM_EXISTS) return new StreamExists(description)
  if (err_code === BATCH_INCOMPLETE) return new BatchDropped(description)
  if (FULL.has(err_code)) return new DatabaseFullError(where, new Error(description))
  if (code === 503) return new NoAnswer(description)
  return new DatabaseError(`The NATS server at ${where} refused a request: ${description} (${err_code})`)
}

export const unreachable = (where: string, cause: unknown): DatabaseUnreachableError =>
  new DatabaseUnreachableError(where, cause)
