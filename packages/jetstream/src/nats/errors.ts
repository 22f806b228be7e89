import { errors } from '@nats-io/transport-node'
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

const NO_JETSTREAM = new Set([10_039, 10_076])

export type ApiError = { readonly code: number; readonly err_code?: number; readonly description?: string }

const WRONG_SEQUENCE = new Set([10_071, 10_164])
const STREAM_NOT_FOUND = 10_059
const STREAM_EXISTS = 10_058
const BATCH_INCOMPLETE = 10_176
/** No space, or a limit of the stream, the account or the server. */
const FULL = new Set([10_002, 10_023, 10_047, 10_028, 10_110, 10_077])

export function errorOf(error: ApiError, where: string): Error {
  const { err_code = 0, description = 'unknown error', code } = error
  if (WRONG_SEQUENCE.has(err_code)) return new Conflict(description)
  if (err_code === STREAM_NOT_FOUND) return new StreamGone(description)
  if (err_code === STREAM_EXISTS) return new StreamExists(description)
  if (err_code === BATCH_INCOMPLETE) return new BatchDropped(description)
  if (NO_JETSTREAM.has(err_code)) return withoutJetStream(where, new Error(description))
  if (FULL.has(err_code)) return new DatabaseFullError(where, new Error(description))
  if (code === 503) return new NoAnswer(description)
  return new DatabaseError(`The NATS server at ${where} refused a request: ${description} (${err_code})`)
}

export const unreachable = (where: string, cause: unknown): DatabaseUnreachableError =>
  new DatabaseUnreachableError(where, cause)

export const withoutJetStream = (where: string, cause: unknown): DatabaseError =>
  new DatabaseError(
    `The NATS server at ${where} has no JetStream for this user. Add a jetstream block to the servers' configuration, and ` +
      "'jetstream: enabled' to the account if you use accounts",
    cause,
  )

/** Why no connection was made, as far as the client knows. */
export function notConnected(where: string, cause: unknown): DatabaseError {
  if (cause instanceof errors.AuthorizationError || cause instanceof errors.UserAuthenticationExpiredError) {
    const advice = "Correct the user and password, or the token, in the address: 'nats://user:password@host'"
    return new DatabaseError(`The NATS server at ${where} refused the credentials. ${advice}`, cause)
  }
  if (TLS_CODE.test(codesOf(cause))) {
    return new DatabaseError(
      `No TLS connection to the NATS server at ${where} could be made: ${messageOf(cause)}. Name the authority that signed ` +
        "its certificate with '?tlsCaFile=ca.pem' in the address, and a certificate of yours with tlsCertFile and tlsKeyFile",
      cause,
    )
  }
  return unreachable(where, cause)
}

type Denied = InstanceType<typeof errors.PermissionViolationError>

/** The permission that the server did not find, in an error or its causes. */
export function deniedIn(error: unknown): Denied | undefined {
  if (error instanceof errors.PermissionViolationError) return error
  return error instanceof Error && error.cause !== undefined ? deniedIn(error.cause) : undefined
}

/** Nothing was stored. */
export const notPermitted = (where: string, cause: Denied): DatabaseError =>
  new DatabaseError(
    `The user at ${where} may not ${cause.operation === 'subscription' ? 'subscribe' : 'publish'} to ${cause.subject}. ` +
      "Allow it to publish to 'tm.>' and '$JS.API.>', and to subscribe to '_INBOX.>' and 'tm.>'",
    cause,
  )

/** A process that was connected: it tries again until it is let in. */
export function refusedNow(where: string, cause: Error): DatabaseError {
  const denied = deniedIn(cause)
  if (denied !== undefined) return notPermitted(where, denied)
  const error = unreachable(where, cause)
  if (cause instanceof errors.AuthorizationError || cause instanceof errors.UserAuthenticationExpiredError) {
    error.message = `The NATS server at ${where} now refuses the credentials of this process, which tries again until they are right`
  }
  return error
}

const TLS_CODE = /CERT|SSL|TLS|UNABLE_TO|ERR_OSSL/

/** Codes of the error and its causes. */
function codesOf(error: unknown): string {
  const { code = '', cause } = (error ?? {}) as { code?: unknown; cause?: unknown }
  return cause === undefined ? String(code) : `${String(code)} ${codesOf(cause)}`
}

function messageOf(error: unknown): string {
  const { message = '', cause } = (error ?? {}) as { message?: string; cause?: unknown }
  return cause === undefined ? message : messageOf(cause)
}
