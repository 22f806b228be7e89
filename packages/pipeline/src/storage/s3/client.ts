/**
 * Requests to one bucket. Every request can be repeated: objects are written once, and deleting twice changes nothing.
 *
 *   send ─▶ answer ─▶ done
 *     │       ├─ clock off: correct ours by the server's Date ─▶ send
 *     │       ├─ refused: other credentials? ─▶ send
 *     │       └─ overloaded ─┐
 *     └─ no answer ──────────┴▶ wait, longer each time and at random ─▶ send, up to `maxAttempts`
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { parseDuration } from '../../duration.ts'
import {
  BucketNotFoundError,
  StorageAccessError,
  StorageError,
  StorageFullError,
  StorageUnreachableError,
} from '../errors.ts'
import { readError } from './answers.ts'
import type { CredentialsCache } from './credentials.ts'
import type { CheckedS3Options, S3Place } from './options.ts'
import { escaped, type S3Credentials, signed } from './sign.ts'

export type S3Request = {
  readonly method: 'GET' | 'PUT' | 'DELETE'
  /** Storage key; without it, the bucket. */
  readonly key?: string
  readonly query?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array
  /** Statuses besides success that the caller understands. */
  readonly understands?: readonly number[]
  /** Bytes of a large answer. */
  readonly expectedBytes?: number
}

export type S3Answer = { readonly status: number; readonly headers: Headers; readonly body: Buffer }

/** Traffic of an S3Storage since it was opened. */
export type S3Metrics = {
  /** Requests, including repeated ones. */
  readonly requests: number
  /** Requests that were repeated because the server did not answer or was overloaded. */
  readonly retries: number
  /** Bytes uploaded. */
  readonly bytesSent: number
  /** Bytes of all answers. */
  readonly bytesReceived: number
  /** How far the server's clock is ahead of this machine's. */
  readonly clockOffsetMs: number
}

/** The server was asked too much or is not well. 409: another conditional write of the same key is under way. */
const TRANSIENT = new Set([307, 408, 409, 429, 500, 502, 503, 504])
const TRANSIENT_CODES = new Set(['RequestTimeout', 'SlowDown', 'InternalError', 'OperationAborted'])
const FULL_CODES = new Set(['QuotaExceeded', 'XMinioStorageFull', 'InsufficientStorage', 'StorageFull'])
/** Servers tolerate 15 minutes. A few seconds are the answer's time on the way. */
const CLOCK_TOLERANCE_MS = 60_000
const FIRST_WAIT_MS = 100
const LONGEST_WAIT_MS = 5_000
const BYTES_PER_MS = 1_000

type Faults = { clock: boolean; credentials: boolean; problem: string; cause: unknown }

export class S3Client {
  readonly place: S3Place
  readonly #region: string
  readonly #credentials: CredentialsCache
  readonly #timeoutMs: number
  readonly #maxAttempts: number
  #clockOffsetMs = 0
  #counts = { requests: 0, retries: 0, bytesSent: 0, bytesReceived: 0 }

  constructor(place: S3Place, region: string, credentials: CredentialsCache, options: CheckedS3Options) {
    this.place = place
    this.#region = region
    this.#credentials = credentials
    this.#timeoutMs = parseDuration('storage.requestTimeout', options.requestTimeout)
    this.#maxAttempts = options.maxAttempts
  }

  get metrics(): S3Metrics {
    return { ...this.#counts, clockOffsetMs: this.#clockOffsetMs }
  }

  /** Time in milliseconds since 1970 by the server's clock, as far as it is known. */
  now(): number {
    return Date.now() + this.#clockOffsetMs
  }

  /** Name of an object in errors. */
  nameOf(key: string): string {
    return `${this.place.name}/${key}`
  }

  async send(request: S3Request): Promise<S3Answer> {
    const healed: Faults = { clock: false, credentials: false, problem: '', cause: undefined }
    for (let attempt = 1; ; attempt++) {
      const credentials = await this.#credentials.get()
      const answer = await this.#ask(request, credentials, healed)
      if (answer !== undefined) {
        const isDone = answer.status < 300 || request.understands?.includes(answer.status)
        if (isDone && !isBucketMissing(answer)) return answer
        if (await this.#isHealed(answer, credentials, healed)) continue
        const error = this.#errorOf(request, answer)
        if (error !== undefined) throw error
        healed.problem = `it answers ${answer.status} ${readError(answer.body.toString()).code}`.trim()
      }
      if (attempt >= this.#maxAttempts) {
        const { name, endpoint } = this.place
        throw new StorageUnreachableError(name, endpoint.origin, healed.problem, healed.cause)
      }
      this.#counts.retries++
      await sleep(Math.random() * Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** attempt))
    }
  }

  /** undefined: there was no answer, or only a part of one. */
  async #ask(request: S3Request, credentials: S3Credentials, faults: Faults): Promise<S3Answer | undefined> {
    const { method, key, query = {}, body, expectedBytes = 0 } = request
    const url = new URL(this.place.base)
    if (key !== undefined) url.pathname += this.place.prefix + key
    url.search = Object.entries(query)
      .map(([name, value]) => `${name}=${escaped(value)}`)
      .join('&')
    const at = new Date(this.now())
    const headers = signed(
      { method, url, headers: request.headers ?? {}, body },
      { credentials, region: this.#region, at },
    )
    const timeout = this.#timeoutMs + Math.ceil(((body?.length ?? 0) + expectedBytes) / BYTES_PER_MS)
    const signal = AbortSignal.timeout(timeout)
    this.#counts.requests++
    try {
      const answer = await fetch(url, {
        method,
        headers,
        redirect: 'manual',
        signal,
        ...(body !== undefined && { body: body as Uint8Array<ArrayBuffer> }),
      })
      const received = Buffer.from(await answer.arrayBuffer())
      this.#counts.bytesSent += body?.length ?? 0
      this.#counts.bytesReceived += received.length
      return { status: statusOf(method, answer.status, received), headers: answer.headers, body: received }
    } catch (error) {
      faults.problem = problemOf(error)
      faults.cause = error
      return undefined
    }
  }

  /** Once for each cause: what is refused again is refused for another reason. */
  async #isHealed({ status, headers }: S3Answer, credentials: S3Credentials, healed: Faults): Promise<boolean> {
    if (status !== 400 && status !== 401 && status !== 403) return false
    const offset = Date.parse(headers.get('date') ?? '') - Date.now()
    if (!healed.clock && Math.abs(offset - this.#clockOffsetMs) > CLOCK_TOLERANCE_MS) {
      healed.clock = true
      this.#clockOffsetMs = offset
      return true
    }
    if (healed.credentials) return false
    healed.credentials = true
    return await this.#credentials.replace(credentials)
  }

  /** undefined: it may succeed later. */
  #errorOf({ method, key }: S3Request, { status, body }: S3Answer): Error | undefined {
    const { name, endpoint } = this.place
    const { code, message } = readError(body.toString())
    if (FULL_CODES.has(code) || status === 507) return new StorageFullError(this.nameOf(key ?? ''), new Error(code))
    if (TRANSIENT.has(status) || TRANSIENT_CODES.has(code)) return undefined
    if (code === 'NoSuchBucket') return new BucketNotFoundError(name, endpoint.origin)
    if (status === 401 || status === 403) {
      return new StorageAccessError(name, `${endpoint.origin} answers ${status} ${code}`.trim())
    }
    const doing = { GET: 'Reading', PUT: 'Writing', DELETE: 'Deleting' }[method]
    const what = key === undefined ? name : this.nameOf(key)
    return new StorageError(doing, what, new Error(`${endpoint.origin} answers ${status} ${code} ${message}`.trim()))
  }
}

/** Servers begin to answer before they have copied an object, so an error of that comes with a 200. */
const statusOf = (method: S3Request['method'], status: number, body: Buffer): number =>
  method === 'PUT' && status === 200 && readError(body.toString()).code !== '' ? 500 : status

/** A missing bucket and a missing object are both 404. */
function isBucketMissing({ status, body }: S3Answer): boolean {
  return status === 404 && readError(body.toString()).code === 'NoSuchBucket'
}

/** 'fetch failed' says nothing; its cause does. */
function problemOf(error: unknown): string {
  const { name, message, cause } = error as Error
  if (name === 'TimeoutError') return 'it does not answer in time'
  const { code, message: reason } = (cause ?? {}) as NodeJS.ErrnoException
  return code ?? reason ?? message
}
