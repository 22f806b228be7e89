import {
  connect,
  errors,
  type Msg,
  type MsgHdrs,
  type NatsConnection,
  type Subscription,
} from '@nats-io/transport-node'
import { ClosedError } from 'tidemark'
import type { NatsAddress } from './address.ts'
import {
  type ApiError,
  deniedIn,
  errorOf,
  NoAnswer,
  notConnected,
  notPermitted,
  refusedNow,
  unreachable,
} from './errors.ts'

export type ConnectionOptions = { readonly timeoutMs: number; readonly name: string }

const RETRY_MS = 50
/** A request without side effects is repeated after a silence of this part of its time. */
const SILENCES = 4
const FLUSH_MS = 500
/** Between two attempts to reconnect, whichever the server. */
const RECONNECT_MS = 50
const text = new TextDecoder()

/** Requests to the servers, with the errors of this package. */
export class Connection {
  readonly where: string
  readonly timeoutMs: number
  readonly #nc: NatsConnection
  /** Why the server does not let this process in, or do something. */
  #refused: { readonly error: Error; readonly at: number } | undefined

  private constructor(nc: NatsConnection, where: string, timeoutMs: number) {
    this.#nc = nc
    this.where = where
    this.timeoutMs = timeoutMs
    void this.#listen()
  }

  static async connect(given: NatsAddress, { timeoutMs, name }: ConnectionOptions): Promise<Connection> {
    const { shown, replicas: _, ...address } = given
    try {
      const nc = await connect({
        ...address,
        name,
        timeout: timeoutMs,
        maxReconnectAttempts: -1,
        reconnectDelayHandler: everySoOften(RECONNECT_MS),
        // A stack for each request costs more than the request.
        noAsyncTraces: true,
        // A password that is changed on the servers is changed back, or the process is started again: until then it tries.
        ignoreAuthErrorAbort: true,
      })
      return new Connection(nc, shown, timeoutMs)
    } catch (cause) {
      throw notConnected(shown, cause)
    }
  }

  get maxPayload(): number {
    return this.#nc.info?.max_payload ?? 1024 * 1024
  }

  get serverVersion(): string {
    return this.#nc.info?.version ?? 'unknown'
  }

  get isClosed(): boolean {
    return this.#nc.isClosed()
  }

  /** As the server has told. */
  get hasJetStream(): boolean {
    return this.#nc.info?.jetstream === true
  }

  /** What a server that was killed has taken with it is asked for again within the time that the whole request has. */
  get attemptMs(): number {
    return this.timeoutMs / SILENCES
  }

  /** A request to the JetStream API. Repeated while there is no leader: what is sent here is safe to repeat. */
  async api<T>(subject: string, body: object = {}): Promise<T> {
    return await this.repeatedly(async () => {
      const answer = await this.request(`$JS.API.${subject}`, Buffer.from(JSON.stringify(body)), this.attemptMs)
      return this.parsed<T>(answer)
    })
  }

  /**
   * Does what has no side effects until it gets an answer, within the time that a request has. A write that expects
   * nothing may be repeated, too.
   */
  async repeatedly<T>(
    attempt: () => Promise<T>,
    isPassing = (error: unknown): boolean => error instanceof NoAnswer,
  ): Promise<T> {
    const until = performance.now() + this.timeoutMs
    for (;;) {
      try {
        return await attempt()
      } catch (error) {
        if (!isPassing(error) || performance.now() > until) throw this.#told(error)
        await pause(RETRY_MS)
      }
    }
  }

  async request(subject: string, data: Uint8Array, timeout: number, hdrs?: MsgHdrs): Promise<Msg> {
    try {
      return await this.#nc.request(subject, data, { timeout, ...(hdrs && { headers: hdrs }) })
    } catch (error) {
      if (this.#nc.isClosed()) throw new ClosedError('The connection to NATS')
      const denied = deniedIn(error)
      if (denied !== undefined) throw notPermitted(this.where, denied)
      if (error instanceof errors.NoRespondersError) throw new NobodyThere('no responders', { cause: error })
      if (error instanceof errors.RequestError && error.isNoResponders()) throw new NobodyThere('no responders')
      throw new NoAnswer('no answer', { cause: error })
    }
  }

  publish(subject: string, data: Uint8Array, hdrs?: MsgHdrs, reply?: Subscription): void {
    try {
      this.#nc.publish(subject, data, { ...(hdrs && { headers: hdrs }), ...(reply && { reply: reply.getSubject() }) })
    } catch (error) {
      if (this.#nc.isClosed()) throw new ClosedError('The connection to NATS')
      throw error
    }
  }

  parsed<T>({ data }: Msg): T {
    const answer = JSON.parse(text.decode(data)) as T & { error?: ApiError }
    if (answer.error === undefined) return answer
    if (answer.error.err_code === 10_037) throw new NotFound()
    throw errorOf(answer.error, this.where)
  }

  /** What callers see when all repetitions failed. */
  #told(error: unknown): unknown {
    if (!(error instanceof NoAnswer)) return error
    const refused = this.#refused
    const isLately = refused !== undefined && performance.now() - refused.at < 2 * this.timeoutMs
    return isLately ? refusedNow(this.where, refused.error) : unreachable(this.where, error)
  }

  /** What the server has refused since the connection was made. A request that is not answered may be due to it. */
  async #listen(): Promise<void> {
    for await (const status of this.#nc.status()) {
      if (status.type === 'reconnect') this.#refused = undefined
      if (status.type === 'error') this.#refused = { error: status.error, at: performance.now() }
    }
  }

  /** A request to another process. Undefined: nobody listens. */
  async ask(subject: string, body: unknown, timeoutMs: number): Promise<unknown> {
    const answer = await this.#nc.request(subject, Buffer.from(JSON.stringify(body)), { timeout: timeoutMs })
    return JSON.parse(text.decode(answer.data))
  }

  subscribe(subject: string, callback: (error: Error | null, message: Msg) => void): Subscription {
    return this.#nc.subscribe(subject, { callback })
  }

  /** Passes over what is no message. */
  listen(subject: string, heard: (message: Msg) => void): Subscription {
    return this.subscribe(subject, (error, message) => {
      if (error === null) heard(message)
    })
  }

  /** Tells whoever listens. Never fails: it is only a hint. */
  tell(subject: string, body: string): void {
    if (!this.#nc.isClosed()) this.#nc.publish(subject, body)
  }

  async flush(): Promise<void> {
    await this.#nc.flush()
  }

  async close(): Promise<void> {
    // Hints that were not sent yet.
    const sent = this.#nc.isClosed() ? Promise.resolve() : this.#nc.flush().catch(() => {})
    await Promise.race([sent, pause(FLUSH_MS)])
    await this.#nc.close()
  }
}

export class NotFound extends Error {}

export class NobodyThere extends NoAnswer {}

/**
 * The client compares the wall clock with the time of its last attempt, and waits for as long as that is ahead: after a
 * clock that was an hour ahead was set right, an hour. A wait of minus infinity is over at once by any clock.
 */
function everySoOften(ms: number): () => number {
  let last = Number.NEGATIVE_INFINITY
  return () => {
    const left = last + ms - performance.now()
    if (left > 0) return left
    last = performance.now()
    return Number.NEGATIVE_INFINITY
  }
}

export const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))
