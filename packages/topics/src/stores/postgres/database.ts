import pg from 'pg'
import { ClosedError, ConfigError } from '../../errors.ts'
import type { PoolUse } from '../store.ts'
import { isTransient, mapError } from './database-errors.ts'
import { inSchema, schemaName } from './schema-name.ts'

export type Logger = Record<'debug' | 'info' | 'warn' | 'error', (fields: object, message: string) => void>

export type DatabaseOptions = {
  readonly url: string
  readonly namespace: string
  readonly poolSize: number
  readonly applicationName: string
  readonly logger: Logger
}

export type Row = Record<string, string | null>

const CONNECT_TIMEOUT_MS = 30_000
const TRANSIENT_ATTEMPTS = 5

/** All values as the text the server sent: we know what each means, and dates or arrays would cost a parse. */
const AS_TEXT = { getTypeParser: () => (value: string) => value }

/** One namespace of one server: its connections, and its errors as ours. */
export class Database {
  readonly schema: string
  /** host:port/database, never a user or a password. */
  readonly location: string
  readonly logger: Logger
  /** A connection is one session of the server, so what is prepared in it stays; not so behind some poolers. */
  keepsSessions = false
  readonly #pool: pg.Pool
  readonly #clientConfig: pg.ClientConfig
  readonly #statements = new Map<string, string>()
  readonly #running = new Set<Promise<unknown>>()
  #closing: Promise<void> | undefined

  constructor({ url, namespace, poolSize, applicationName, logger }: DatabaseOptions) {
    this.schema = schemaName(namespace)
    this.logger = logger
    this.#clientConfig = {
      connectionString: url,
      application_name: applicationName,
      keepAlive: true,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    }
    this.location = locationOf(this.#clientConfig)
    this.#pool = new pg.Pool({ ...this.#clientConfig, max: poolSize, onConnect: prepareSession })
    // An idle connection that breaks is replaced when the next one is asked for.
    this.#pool.on('error', error => logger.debug({ err: error }, 'an idle database connection broke'))
  }

  /** The statement with this namespace's schema in it. */
  sql(template: string): string {
    let text = this.#statements.get(template)
    if (text === undefined) {
      text = inSchema(template, this.schema)
      this.#statements.set(template, text)
    }
    return text
  }

  /** Runs one statement, in a transaction of its own. A `name` makes each connection prepare it once, where it may. */
  query(text: string, values: unknown[] = [], name?: string): Promise<Row[]> {
    const prepared = name !== undefined && this.keepsSessions
    const config = { text, values, types: AS_TEXT, ...(prepared && { name }) }
    return this.#run(async () => (await this.#pool.query<Row>(config)).rows)
  }

  /** As `query`, but again where the server undid it for another transaction's sake. Not for what must not be repeated. */
  async queryAgain(text: string, values: unknown[], name?: string): Promise<Row[]> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.query(text, values, name)
      } catch (error) {
        const undone = error instanceof Error && isTransient(error.cause)
        if (!undone || attempt === TRANSIENT_ATTEMPTS) throw error
      }
    }
  }

  transaction<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    return this.#run(() => this.#transact(work))
  }

  /** One connection for statements that can't run in a transaction. It is not used again, so what `work` sets ends with it. */
  session<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    return this.#run(async () => {
      const client = await this.#pool.connect()
      const ignore = () => {}
      client.on('error', ignore)
      try {
        return await work(client)
      } finally {
        client.release(true)
      }
    })
  }

  async #transact<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const client = await this.#pool.connect()
    // A connection that breaks says so here as well as in the query that is under way.
    const ignore = () => {}
    client.on('error', ignore)
    let broken: Error | undefined
    try {
      await client.query('begin')
      const result = await work(client)
      await client.query('commit')
      return result
    } catch (error) {
      await client.query('rollback').catch(cause => {
        broken = cause instanceof Error ? cause : new Error(String(cause))
      })
      throw error
    } finally {
      client.off('error', ignore)
      client.release(broken)
    }
  }

  /** A connection outside the pool, not yet connected. */
  newClient(more: pg.ClientConfig = {}): pg.Client {
    return new pg.Client({ ...this.#clientConfig, ...more })
  }

  poolUse(): PoolUse {
    const { totalCount, idleCount, waitingCount } = this.#pool
    return { size: this.#pool.options.max ?? totalCount, busy: totalCount - idleCount, waiting: waitingCount }
  }

  /** Waits for what runs, or waits for a connection: the pool itself would leave those waiting for ever. */
  close(): Promise<void> {
    this.#closing ??= Promise.allSettled(this.#running).then(() => this.#pool.end())
    return this.#closing
  }

  async #run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#closing) throw new ClosedError('The store')
    const running = work()
    this.#running.add(running)
    try {
      return await running
    } catch (error) {
      throw mapError(error, this.location)
    } finally {
      this.#running.delete(running)
    }
  }
}

/** A server may be set up otherwise, but a claim is right only where each of its statements sees what has committed. */
async function prepareSession(client: pg.ClientBase): Promise<void> {
  await client.query("set default_transaction_isolation = 'read committed'")
}

function locationOf(config: pg.ClientConfig): string {
  try {
    const { host, port, database } = new pg.Client(config)
    return `${host}:${port}/${database ?? ''}`
  } catch {
    // The driver's error quotes the address, password and all.
    throw new ConfigError('url', '(hidden)', 'postgres://user:password@host:port/database')
  }
}
