import { EventEmitter } from 'node:events'
import { reasonOf } from '../../errors/failure.ts'
import { ConfigError } from '../../errors.ts'
import { withTimeout } from '../../with-timeout.ts'
import { AnswerDeadlines, type Deadline } from './answer-deadlines.ts'
import type { Statement } from './connections.ts'
import { NotConnectedError } from './database-errors.ts'
import { type Prepared, PreparedQuery } from './prepared-query.ts'
import type { Row } from './row.ts'
import type { SilenceWatch } from './silence-watch.ts'

/** A `Client` of the package `pg`, version 8, of any copy. */
export type PgClient = {
  /** Connects. */
  readonly connect: (...args: never[]) => unknown
  /** Runs one statement. */
  readonly query: (...args: never[]) => unknown
  /** Listens to errors and notifications. */
  readonly on: (...args: never[]) => unknown
  /** Disconnects. */
  readonly end: (...args: never[]) => unknown
}

type Client = {
  connect(): Promise<unknown>
  query(config: { text: string; values?: unknown[]; name?: string; types?: typeof AS_TEXT }): Promise<unknown>
  query(query: PreparedQuery): unknown
  on(event: 'error' | 'end' | 'notification', listener: (value: object) => void): unknown
  end(): Promise<unknown>
}

/**
 * Returns a new `pg` Client, not yet connected, for each new connection.
 *
 * @example
 * const client: ClientFactory = async () => new pg.Client({ host: 'db', user: 'app', password: await freshToken() })
 */
export type ClientFactory = () => PgClient | Promise<PgClient>

export type SessionConfig = {
  readonly client: ClientFactory
  /** Every statement is answered within this time, or the connection is dropped. */
  readonly limitMs: number
  /** Called with the time of the unanswered statement when a connection did not answer. */
  readonly onSilence: (sentAt: number) => void
}

/** How long a server has to close the connection cleanly. */
const GOODBYE_MS = 1_000

/** All values as the text that the server sent: we know what each means, and parsing dates or arrays costs time. */
const AS_TEXT = { getTypeParser: () => (value: string) => value }

/** A connection that did not answer in time, with the error code of a broken one. */
export class SilenceError extends Error {
  readonly code = 'ETIMEDOUT'

  constructor(limitMs: number) {
    super(`No answer within ${limitMs} ms`)
    this.name = 'SilenceError'
  }
}

/**
 * A client of the driver with a client-side deadline for every statement: if the network has forgotten the connection,
 * nothing else would ever end the wait. A connection that misses its deadline is destroyed, and everything waiting for
 * it fails.
 */
export class Session extends EventEmitter {
  /** Timeout of the following statements. */
  limitMs: number
  /** Resolves when the connection is gone, whatever ended it. */
  readonly gone: Promise<void>
  /** The settings that were applied to it on the server. */
  settings: string | undefined
  /** Watches statements whose limit is too long to wait for. */
  watch: SilenceWatch | undefined
  readonly #factory: ClientFactory
  #client: Client | undefined
  #answeredAt = performance.now()
  #isGone = false
  #isConnected = false
  readonly #deadlines = new AnswerDeadlines()
  /** By name. */
  readonly #prepared = new Map<string, Prepared>()
  readonly #end: () => void
  readonly #onSilence: (sentAt: number) => void

  constructor({ client, limitMs, onSilence }: SessionConfig) {
    super()
    this.#factory = client
    this.limitMs = limitMs
    this.#onSilence = onSilence
    const { promise, resolve } = Promise.withResolvers<void>()
    this.gone = promise
    this.#end = () => {
      this.#isGone = true
      this.#deadlines.clear()
      resolve()
    }
    // Without a listener a lost connection would end the process.
    this.on('error', this.#end)
    this.on('end', this.#end)
  }

  /** When it last answered, on the monotonic clock. */
  get answeredAt(): number {
    return this.#answeredAt
  }

  get isGone(): boolean {
    return this.#isGone
  }

  /** A failed attempt leaves nothing behind. */
  async connect(): Promise<void> {
    try {
      await this.#timed(() => this.#connectClient())
    } catch (error) {
      this.destroy()
      throw error
    }
  }

  /** The rows, all values as text; for several statements those of the last. */
  query(statement: Statement): Promise<Row[]> {
    const { text, values, name } = statement
    const prepared = name === undefined ? undefined : this.#prepared.get(name)
    return name !== undefined && prepared?.text === text
      ? this.#repeat(name, prepared, values)
      : this.#queryAnew(statement)
  }

  /** The rows of each of several statements without parameters. */
  async several(text: string): Promise<Row[][]> {
    return (await this.#send({ text })).map(({ rows }) => rows)
  }

  /** One or more statements without parameters. */
  async exec(text: string): Promise<void> {
    await this.#send({ text })
  }

  /** Closes the connection at once, without telling the server. */
  destroy(reason?: Error): void {
    this.#end()
    const stream = this.#stream()
    if (stream) stream.destroy(reason)
    else void this.#client?.end().catch(() => undefined)
  }

  /** Tells the server, and waits briefly for its answer. */
  async leave(): Promise<void> {
    // The driver's end() would leave a connect() in progress waiting for ever.
    if (this.#isConnected && !this.#isGone) await withTimeout(this.#connected().end(), GOODBYE_MS)
    this.destroy()
  }

  async #connectClient(): Promise<void> {
    const client = await this.#make()
    if (!isNewClient(client)) throw new ConfigError('open.client', kindOf(client), NEW_CLIENT)
    this.#client = client
    used.add(client)
    client.on('error', error => this.emit('error', error))
    client.on('end', () => this.emit('end'))
    client.on('notification', message => this.emit('notification', message))
    if (this.#isGone) throw new NotConnectedError('It was given up while it connected')
    await client.connect()
    this.#isConnected = true
  }

  /** A factory may fetch a token from somewhere that fails or never answers. */
  async #make(): Promise<unknown> {
    const late = this.gone.then(() => {
      throw new NotConnectedError(`client() gave no client within ${this.limitMs} ms`)
    })
    try {
      return await Promise.race([this.#factory(), late])
    } catch (error) {
      if (error instanceof NotConnectedError) throw error
      throw new NotConnectedError(`client() failed: ${reasonOf(error)}`, error)
    }
  }

  #connected(): Client {
    if (this.#client === undefined) throw new NotConnectedError('The client is not connected')
    return this.#client
  }

  #stream(): Stream | undefined {
    const client = this.#client as { connection?: { stream?: Stream } } | undefined
    return client?.connection?.stream
  }

  async #queryAnew({ text, values, name }: Statement): Promise<Row[]> {
    const config = { text, ...(values.length > 0 && { values: values as unknown[] }), ...(name && { name }) }
    const results = await this.#send(config)
    if (name !== undefined) this.#remember(name, text, results)
    return results.at(-1)?.rows ?? []
  }

  async #send(config: object & { text: string }): Promise<Result[]> {
    const result = await this.#timed(() => this.#connected().query({ ...config, types: AS_TEXT }))
    return [result].flat() as Result[]
  }

  /** From now on the statement is sent without asking for its columns again. */
  #remember(name: string, text: string, [result]: readonly Result[]): void {
    const client = this.#client as { connection?: { parsedStatements?: Record<string, unknown> }; pipeline?: boolean }
    // Not on a client that has prepared nothing, or of another kind.
    if (result?.fields === undefined || client.connection?.parsedStatements?.[name] !== text || client.pipeline) return
    this.#prepared.set(name, { text, columns: result.fields.map(field => field.name) })
  }

  #repeat(name: string, prepared: Prepared, values: readonly unknown[]): Promise<Row[]> {
    return new Promise((resolve, reject) => {
      const client = this.#connected()
      const query = new PreparedQuery(name, prepared, values, (error, result) => {
        this.#answered(wait)
        if (error === null) resolve(result?.rows ?? [])
        else reject(error)
      })
      const wait = this.#wait()
      client.query(query)
    })
  }

  async #timed<T>(send: () => Promise<T>): Promise<T> {
    const wait = this.#wait()
    try {
      return await send()
    } finally {
      this.#answered(wait)
    }
  }

  #wait(): Wait {
    const sentAt = performance.now()
    const giveUp = (): void => {
      this.#onSilence(sentAt)
      this.destroy(new SilenceError(Math.round(performance.now() - sentAt)))
    }
    return { deadline: this.#deadlines.begin(sentAt, this.limitMs, giveUp), unwatch: this.watch?.(giveUp) }
  }

  #answered({ deadline, unwatch }: Wait): void {
    this.#deadlines.end(deadline)
    unwatch?.()
    if (!this.#isGone) this.#answeredAt = performance.now()
  }
}

type Wait = { readonly deadline: Deadline; readonly unwatch: (() => void) | undefined }

type Result = { readonly rows: Row[]; readonly fields?: readonly { readonly name: string }[] }

type Stream = { destroy(reason?: Error): void }

const NEW_CLIENT = 'a function that returns a new pg Client each time, which is not connected yet'

function isNewClient(value: unknown): value is Client {
  if (typeof value !== 'object' || value === null) return false
  const client = value as Record<string, unknown>
  const isClient = ['connect', 'query', 'on', 'end'].every(name => typeof client[name] === 'function')
  // A pool has these methods too.
  const isOne = isClient && !('totalCount' in value)
  return isOne && !used.has(value) && client._connected !== true && client._connecting !== true
}

/** Clients that were already used: one client is one connection. */
const used = new WeakSet<object>()

const kindOf = (value: unknown): string =>
  typeof value === 'object' && value !== null
    ? `a function that returned ${used.has(value) ? 'the same client again' : 'an object that is not a new client'}`
    : `a function that returned ${String(value)}`
