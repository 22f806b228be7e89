import { randomBytes } from 'node:crypto'
import {
  connect,
  createInbox,
  errors,
  headers,
  type Msg,
  type MsgHdrs,
  type NatsConnection,
  type Subscription,
} from '@nats-io/transport-node'
import { ClosedError, DatabaseVersionError } from 'tidemark'
import type { NatsAddress } from './address.ts'
import {
  type ApiError,
  errorOf,
  NoAnswer,
  notConnected,
  StreamExists,
  StreamGone,
  unreachable,
  withoutJetStream,
} from './errors.ts'

/** A message as a stream has it. */
export type Stored = {
  readonly seq: number
  readonly subject: string
  readonly at: number
  readonly data: Uint8Array
  /** Value of a header. */
  header(name: string): string
}

/** A message to store. */
export type Write = {
  readonly subject: string
  readonly data: Uint8Array
  /** Sequence that the subject's last message must have; 0: there must be none. */
  readonly expected?: number
  /** Time to live in seconds. */
  readonly ttl?: number
  readonly headers?: Readonly<Record<string, string>>
}

export type StreamSettings = {
  readonly name: string
  readonly subjects: readonly string[]
  readonly replicas: number
  /** One message per subject. */
  readonly last?: boolean
}

export type StreamInfo = {
  readonly config: {
    readonly name: string
    readonly num_replicas: number
    readonly allow_atomic?: boolean
    readonly max_bytes?: number
  }
  /** The server's clock. */
  readonly ts?: string
  readonly state: {
    readonly messages: number
    readonly bytes: number
    readonly first_seq: number
    readonly last_seq: number
    readonly subjects?: Readonly<Record<string, number>>
  }
  /** Number of subjects, of which the answer may have a part. */
  readonly total?: number
  /** In the answer to a creation. */
  readonly did_create?: boolean
  readonly cluster?: {
    /** Not of a server that stands alone. */
    readonly name?: string
    readonly leader?: string
    readonly replicas?: readonly {
      readonly name: string
      readonly current: boolean
      readonly offline?: boolean
      readonly lag?: number
      /** Nanoseconds since the leader has heard of it. */
      readonly active?: number
    }[]
  }
}

export type BatchQuery = {
  readonly next_by_subj?: string
  readonly seq?: number
  readonly start_time?: string
  readonly batch?: number
  readonly max_bytes?: number
}

export type AccountInfo = { readonly storage: number; readonly limits: { readonly max_storage: number } }

export type ClientOptions = { readonly timeoutMs: number; readonly name: string }

/** Most messages of one atomic batch. */
export const MOST_WRITES = 1_000
const EMPTY = new Uint8Array(0)
const RETRY_MS = 50
/** A request without side effects is repeated after a silence of this part of its time. */
const SILENCES = 4
const FLUSH_MS = 500
/** Between two attempts to reconnect, whichever the server. */
const RECONNECT_MS = 50
const text = new TextDecoder()

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

/** What the store needs of a NATS server: atomic writes, reads from the leader and from any replica, and streams. */
export class Client {
  readonly where: string
  readonly #nc: NatsConnection
  readonly #timeoutMs: number

  private constructor(nc: NatsConnection, where: string, timeoutMs: number) {
    this.#nc = nc
    this.where = where
    this.#timeoutMs = timeoutMs
  }

  static async connect(given: NatsAddress, { timeoutMs, name }: ClientOptions): Promise<Client> {
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
      return new Client(nc, shown, timeoutMs)
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

  /**
   * Stores all of the messages of one stream or none. Resolves with the sequence of the last; they are consecutive.
   * `id`: the server stores a message with an id once, however often it is sent.
   */
  async store(writes: readonly Write[], id?: string): Promise<{ readonly seq: number; readonly duplicate: boolean }> {
    const last = writes.at(-1)
    if (last === undefined) throw new Error('nothing to store')
    const lastHeaders = headersOf(last)
    if (id !== undefined) lastHeaders.set('Nats-Msg-Id', id)
    if (writes.length > 1) {
      const batch = randomBytes(12).toString('hex')
      const numbered = (hdrs: MsgHdrs, number: number): MsgHdrs => {
        hdrs.set('Nats-Batch-Id', batch)
        hdrs.set('Nats-Batch-Sequence', String(number))
        return hdrs
      }
      for (const [place, write] of writes.slice(0, -1).entries()) {
        this.#publish(write.subject, write.data, numbered(headersOf(write), place + 1))
      }
      numbered(lastHeaders, writes.length).set('Nats-Batch-Commit', '1')
    }
    const answer = await this.#request(last.subject, last.data, this.#timeoutMs, lastHeaders)
    const ack = this.#parsed<{ seq: number; duplicate?: boolean }>(answer)
    return { seq: ack.seq, duplicate: ack.duplicate ?? false }
  }

  /**
   * `store` that is repeated while nobody listens, as for a moment after a stream was created, and of writes that expect
   * nothing also after a lost answer.
   */
  async storeSurely(
    writes: readonly Write[],
    mayRepeat = writes.every(({ expected }) => expected === undefined),
  ): Promise<number> {
    const until = performance.now() + this.#timeoutMs
    for (;;) {
      try {
        return (await this.store(writes)).seq
      } catch (error) {
        const isPassing = error instanceof NobodyThere || (mayRepeat && error instanceof NoAnswer)
        if (!isPassing || performance.now() > until) throw this.#told(error)
        await pause(RETRY_MS)
      }
    }
  }

  /** The last message of a subject, as the leader has it; null if there is none. */
  async last(stream: string, subject: string): Promise<Stored | null> {
    return await this.#fromLeader(stream, { last_by_subj: subject })
  }

  /** The last message of each subject of a filter, as the leader has them. */
  async lasts(stream: string, filter: string): Promise<Stored[]> {
    const subjects: string[] = []
    for (;;) {
      const { state, total = 0 } = await this.info(stream, { subjects_filter: filter, offset: subjects.length })
      const page = Object.keys(state.subjects ?? {})
      subjects.push(...page)
      if (page.length === 0 || subjects.length >= total) break
    }
    const found = await Promise.all(subjects.map(subject => this.last(stream, subject)))
    return found.filter(each => each !== null)
  }

  /** One message, as the leader has it. */
  async at(stream: string, seq: number): Promise<Stored | null> {
    return await this.#fromLeader(stream, { seq })
  }

  /** The first message of a subject from a sequence on, as the leader has it. */
  async next(stream: string, subject: string, seq: number): Promise<Stored | null> {
    return await this.#fromLeader(stream, { seq, next_by_subj: subject })
  }

  /** Messages of the subject from a sequence or time on, from any replica: one that lags behind returns fewer. */
  async batch(stream: string, query: BatchQuery): Promise<Stored[]> {
    const until = performance.now() + this.#timeoutMs
    for (;;) {
      try {
        return await this.#batch(stream, query)
      } catch (error) {
        if (!(error instanceof NoAnswer) || performance.now() > until) throw this.#told(error)
        // Nobody listens while no replica runs, and also if there is no such stream: its leader knows.
        if (error instanceof NobodyThere) await this.info(stream)
        await pause(RETRY_MS)
      }
    }
  }

  async #batch(stream: string, query: BatchQuery): Promise<Stored[]> {
    const found: Stored[] = []
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    let isWhole = true
    let heard = 0
    // An answer may be lost: a silence is shorter than the time that the whole request has. A process that got no processor
    // for so long first looks at what has come meanwhile.
    const timer = setTimeout(() => {
      const before = heard
      setImmediate(() => {
        if (heard !== before) timer.refresh()
        // As from a replica that lags behind.
        else if (isWhole && found.length > 0) resolve()
        else reject(new NoAnswer('timeout'))
      })
    }, this.#attemptMs)
    // Each message names the one before it: a connection that broke for a moment loses some of the answer.
    const follows = ({ headers: hdrs }: Msg): boolean =>
      Number(hdrs?.last('Nats-Last-Sequence')) === (found.at(-1)?.seq ?? 0)
    const subscription = this.#nc.subscribe(createInbox(), {
      callback: (error, message) => {
        if (error !== null) return reject(new NoAnswer('no answer', { cause: error }))
        heard++
        timer.refresh()
        const code = message.headers?.code ?? 0
        if (code === 0 || code === 204) isWhole &&= follows(message)
        if (code === 0) found.push(storedOf(message))
        else if (code === 204 || code === 404) isWhole ? resolve() : reject(new NoAnswer('the answer has a gap'))
        else if (code === 503) reject(new NobodyThere(`no replica of ${stream} answers`))
        else reject(errorOf({ code, description: message.headers?.description ?? '' }, this.where))
      },
    })
    try {
      this.#publish(`$JS.API.DIRECT.GET.${stream}`, Buffer.from(JSON.stringify(query)), undefined, subscription)
      await promise
      return found
    } finally {
      clearTimeout(timer)
      subscription.unsubscribe()
    }
  }

  /** Creates a stream, or returns the existing one. A server that is too old drops the setting that all writes need. */
  async createStream({ name, subjects, replicas, last = false }: StreamSettings): Promise<void> {
    const config = {
      name,
      subjects,
      num_replicas: replicas,
      retention: 'limits',
      storage: 'file',
      discard: 'new',
      allow_direct: true,
      allow_atomic: true,
      allow_msg_ttl: true,
      duplicate_window: 120e9,
      max_msgs_per_subject: last ? 1 : -1,
      max_msgs: -1,
      max_bytes: -1,
      max_age: 0,
      max_msg_size: -1,
    }
    const info = await this.api<StreamInfo>(`STREAM.CREATE.${name}`, config).catch(error => {
      // It exists with other settings, such as another number of replicas.
      if (error instanceof StreamExists) return this.info(name)
      throw error
    })
    if (info.config.allow_atomic === true) return
    // Never one that was there before: an older server that took over a namespace must not cost its data.
    if (info.did_create === true) await this.deleteStream(name)
    throw new DatabaseVersionError(
      `The NATS server at ${this.where} (${this.serverVersion}) is too old: it ignores atomic batches, which came with ` +
        '2.12. Update every server of the cluster',
    )
  }

  async deleteStream(name: string): Promise<void> {
    await this.api(`STREAM.DELETE.${name}`).catch(error => {
      if (!(error instanceof StreamGone)) throw error
    })
  }

  info(name: string, query: object = {}): Promise<StreamInfo> {
    return this.api<StreamInfo>(`STREAM.INFO.${name}`, query)
  }

  async streamNames(prefix: string): Promise<string[]> {
    const names: string[] = []
    for (;;) {
      const page = await this.api<{ streams: string[] | null; total: number }>('STREAM.NAMES', { offset: names.length })
      names.push(...(page.streams ?? []))
      if (names.length >= page.total || (page.streams ?? []).length === 0) break
    }
    return names.filter(name => name.startsWith(prefix))
  }

  /** Removes the messages of a subject below a sequence. */
  async purge(stream: string, filter: string, seq?: number): Promise<number> {
    const { purged } = await this.api<{ purged: number }>(`STREAM.PURGE.${stream}`, { filter, ...(seq && { seq }) })
    return purged
  }

  /** What the account stores and may store. Refuses servers and accounts without JetStream. */
  async account(): Promise<AccountInfo> {
    try {
      return await this.api<AccountInfo>('INFO')
    } catch (error) {
      // Another server of the cluster may have it, so nobody's answer counts, not the server's greeting.
      if (this.#nc.info?.jetstream === true) throw error
      throw withoutJetStream(this.where, error)
    }
  }

  /** A request to the JetStream API. Repeated while there is no leader: what is sent here is safe to repeat. */
  async api<T>(subject: string, body: object = {}): Promise<T> {
    const until = performance.now() + this.#timeoutMs
    for (;;) {
      try {
        const answer = await this.#request(`$JS.API.${subject}`, Buffer.from(JSON.stringify(body)), this.#attemptMs)
        return this.#parsed<T>(answer)
      } catch (error) {
        if (!(error instanceof NoAnswer) || performance.now() > until) throw this.#told(error)
        await pause(RETRY_MS)
      }
    }
  }

  /** A request to another process. Undefined: nobody listens. */
  async ask(subject: string, body: unknown, timeoutMs: number): Promise<unknown> {
    const answer = await this.#nc.request(subject, Buffer.from(JSON.stringify(body)), { timeout: timeoutMs })
    return JSON.parse(text.decode(answer.data))
  }

  listen(subject: string, heard: (message: Msg) => void): Subscription {
    return this.#nc.subscribe(subject, {
      callback: (error, message) => {
        if (error === null) heard(message)
      },
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

  async #fromLeader(stream: string, query: object): Promise<Stored | null> {
    const until = performance.now() + this.#timeoutMs
    for (;;) {
      try {
        const body = Buffer.from(JSON.stringify(query))
        const answer = await this.#request(`$JS.API.STREAM.MSG.GET.${stream}`, body, this.#attemptMs)
        const { message } = this.#parsed<{ message: ApiMessage }>(answer)
        return fromApi(message)
      } catch (error) {
        if (error instanceof NotFound) return null
        if (!(error instanceof NoAnswer) || performance.now() > until) throw this.#told(error)
        await pause(RETRY_MS)
      }
    }
  }

  /** What a server that was killed has taken with it is asked for again within the time that the whole request has. */
  get #attemptMs(): number {
    return this.#timeoutMs / SILENCES
  }

  async #request(subject: string, data: Uint8Array, timeout: number, hdrs?: MsgHdrs): Promise<Msg> {
    try {
      return await this.#nc.request(subject, data, { timeout, ...(hdrs && { headers: hdrs }) })
    } catch (error) {
      if (this.#nc.isClosed()) throw new ClosedError('The connection to NATS')
      if (error instanceof errors.NoRespondersError) throw new NobodyThere('no responders', { cause: error })
      if (error instanceof errors.RequestError && error.isNoResponders()) throw new NobodyThere('no responders')
      throw new NoAnswer('no answer', { cause: error })
    }
  }

  #publish(subject: string, data: Uint8Array, hdrs?: MsgHdrs, reply?: Subscription): void {
    try {
      this.#nc.publish(subject, data, { ...(hdrs && { headers: hdrs }), ...(reply && { reply: reply.getSubject() }) })
    } catch (error) {
      if (this.#nc.isClosed()) throw new ClosedError('The connection to NATS')
      throw error
    }
  }

  #parsed<T>({ data }: Msg): T {
    const answer = JSON.parse(text.decode(data)) as T & { error?: ApiError }
    if (answer.error === undefined) return answer
    if (answer.error.err_code === 10_037) throw new NotFound()
    throw errorOf(answer.error, this.where)
  }

  /** What callers see when all repetitions failed. */
  #told(error: unknown): unknown {
    return error instanceof NoAnswer ? unreachable(this.where, error) : error
  }
}

class NotFound extends Error {}

class NobodyThere extends NoAnswer {}

type ApiMessage = { subject: string; seq: number; data?: string; hdrs?: string; time: string }

function fromApi({ subject, seq, data = '', hdrs = '', time }: ApiMessage): Stored {
  const lines = Buffer.from(hdrs, 'base64').toString()
  return {
    seq,
    subject,
    at: Date.parse(time),
    data: data === '' ? EMPTY : Buffer.from(data, 'base64'),
    header: name => new RegExp(`^${name}: ?(.*?)\r?$`, 'im').exec(lines)?.[1] ?? '',
  }
}

function storedOf({ data, headers: hdrs }: Msg): Stored {
  const header = (name: string): string => hdrs?.last(name) ?? ''
  return {
    seq: Number(header('Nats-Sequence')),
    subject: header('Nats-Subject'),
    at: Date.parse(header('Nats-Time-Stamp')),
    data,
    header,
  }
}

function headersOf({ expected, ttl, headers: given = {} }: Write): MsgHdrs {
  const hdrs = headers()
  if (expected !== undefined) hdrs.set('Nats-Expected-Last-Subject-Sequence', String(expected))
  if (ttl !== undefined) hdrs.set('Nats-TTL', `${ttl}s`)
  for (const [name, value] of Object.entries(given)) hdrs.set(name, value)
  return hdrs
}

export const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))
