import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import { ClosedError, ConfigError } from 'tidemark'
import { retryDelayMs } from '../../backoff.ts'
import { IndexReadingError, IndexUnreachableError } from '../errors.ts'
import type { IndexConnection } from '../index-connection.ts'
import type { IndexSettings } from '../index-database.ts'
import { IndexMeter } from '../index-meter.ts'
import { NoNesting } from '../no-nesting.ts'
import type { SqlValue, Transaction } from '../transaction.ts'
import { POSTGRES } from './dialect.ts'
import { driver } from './driver.ts'
import { isStatementLost, isTransient, mapError } from './engine-errors.ts'
import { inSchema, lockKey } from './schema-name.ts'

const CONNECT_TIMEOUT_MS = 30_000
/** Longer than a statement may wait for a lock. A connection that does not answer by then is discarded. */
const STATEMENT_TIMEOUT_MS = 60_000
const TRANSIENT_ATTEMPTS = 5
/**
 * Retried at once, it could take its first lock again before the other transaction continues, and they would deadlock
 * again.
 */
const UNDONE = { initialMs: 30, maxMs: 250, factor: 2, jitter: 0.3 }
const INT8 = 20

/** int8 arrives as text because it may exceed a number; our values never do. */
const TYPES: pg.CustomTypesConfig = {
  getTypeParser: (oid, format) => (Number(oid) === INT8 ? Number : driver().types.getTypeParser(oid, format)),
}

/** One schema of one server: its connections and mapped errors. */
export class PostgresConnection implements IndexConnection {
  readonly dialect = POSTGRES
  readonly schema: string
  readonly meter = new IndexMeter()
  /** host:port/database, without user and password. */
  readonly location: string
  readonly #pool: pg.Pool
  readonly #settings: IndexSettings
  readonly #nesting: NoNesting
  readonly #statements = new Map<string, string>()
  readonly #names = new Map<string, string>()
  /** A pooler may use another connection each time, which does not know the prepared statements of the last one. */
  #isPooled = false
  readonly #tables = new Set<string>()
  readonly #running = new Set<Promise<unknown>>()
  #closing: Promise<void> | undefined

  constructor(address: string, schema: string, settings: IndexSettings) {
    const config = {
      connectionString: address,
      application_name: '@tidemark/pipeline',
      keepAlive: true,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      query_timeout: Math.ceil(settings.busyTimeoutMs) + STATEMENT_TIMEOUT_MS,
    }
    this.schema = schema
    this.location = locationOf(config)
    this.#settings = settings
    this.#nesting = new NoNesting(this.location)
    this.#pool = new (driver().Pool)({ ...config, max: settings.poolSize })
    // An idle connection that breaks is replaced with the next request.
    this.#pool.on('error', () => undefined)
  }

  async read<T>(sql: string, ...values: SqlValue[]): Promise<T[]> {
    return await this.#track(() => this.meter.read(() => this.#readOnce<T>(sql, values)))
  }

  async #readOnce<T>(sql: string, values: SqlValue[]): Promise<T[]> {
    try {
      return (await this.#pool.query(this.#named(this.#query(sql, values)))).rows as T[]
    } catch (error) {
      if (!isStatementLost(error)) throw mapError(error, this.location)
      this.#isPooled = true
      return (await this.#mapped(() => this.#pool.query(this.#query(sql, values)))).rows as T[]
    }
  }

  async hasTable(name: string, tx?: Transaction): Promise<boolean> {
    if (tx !== undefined) return (await tx.rows(POSTGRES.tableExists, name)).length > 0
    if (this.#tables.has(name)) return true
    const found = await this.read(POSTGRES.tableExists, name)
    if (found.length > 0) this.#tables.add(name)
    return found.length > 0
  }

  async hasColumn(table: string, column: string, tx?: Transaction): Promise<boolean> {
    if (tx !== undefined) return (await tx.rows(POSTGRES.columnExists, table, column)).length > 0
    const name = `${table}.${column}`
    if (this.#tables.has(name)) return true
    const found = await this.read(POSTGRES.columnExists, table, column)
    if (found.length > 0) this.#tables.add(name)
    return found.length > 0
  }

  /** Each statement sees what was committed before it, so the next holder of the lock sees everything this one wrote. */
  async lock(name: string, tx: Transaction): Promise<void> {
    await tx.rows('select pg_advisory_xact_lock($1)', lockKey(`${this.schema}.${name}`))
  }

  async transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    if (this.#settings.readOnly) throw new IndexReadingError(this.location)
    this.#nesting.check()
    return await this.#track(async () => {
      for (let attempt = 1; ; attempt++) {
        try {
          return await this.meter.transaction(() => this.#transact(work))
        } catch (error) {
          const undone = error instanceof Error && isTransient(error.cause)
          if (!undone || attempt === TRANSIENT_ATTEMPTS) throw error
          await delay(retryDelayMs(attempt - 1, UNDONE))
        }
      }
    })
  }

  /**
   * Waits for running statements and for callers that wait for a connection; the pool itself would leave those waiting
   * forever.
   */
  close(): Promise<void> {
    this.#closing ??= Promise.allSettled(this.#running).then(() => this.#pool.end())
    return this.#closing
  }

  async #transact<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    const client = await this.#mapped(() => this.#pool.connect())
    // A connection that breaks reports it here and in the running query.
    const ignore = () => {}
    client.on('error', ignore)
    let isOpen = true
    let broken: Error | undefined
    // Errors of `work` are passed on unchanged; only errors of statements are mapped.
    const send = async (query: pg.QueryConfig): Promise<pg.QueryResult> => {
      if (!isOpen) throw new ClosedError('The transaction')
      return await this.#mapped(() => client.query(query))
    }
    try {
      await send({ text: this.#begin() })
      const result = await this.#nesting.run(() =>
        work({
          rows: async (sql, ...values) => (await send(this.#query(sql, values))).rows,
          run: async (sql, ...values) => (await send(this.#query(sql, values))).rowCount ?? 0,
        }),
      )
      await send({ text: 'commit' })
      return result
    } catch (error) {
      // A connection that does not answer would not answer this either.
      if (error instanceof IndexUnreachableError) broken = error
      else {
        await client.query('rollback').catch(cause => {
          broken = cause instanceof Error ? cause : new Error(String(cause))
        })
      }
      throw error
    } finally {
      isOpen = false
      client.off('error', ignore)
      client.release(broken)
    }
  }

  /**
   * The server may have another default, but a change of the ledger is correct only if each statement sees what has
   * committed. One text, so that it takes one round trip and works with a pooler, too.
   */
  #begin(): string {
    return `begin isolation level read committed; set local lock_timeout = ${Math.ceil(this.#settings.busyTimeoutMs)}`
  }

  /**
   * A named statement is parsed and planned once: a row of 10 kB is read in half the time. Its name is derived from its
   * text, so that with a pooler, where connections are shared, a name never refers to another statement.
   */
  #named(query: pg.QueryConfig): pg.QueryConfig {
    if (this.#isPooled) return query
    let name = this.#names.get(query.text)
    if (name === undefined) {
      name = `tidemark_${createHash('sha256').update(query.text).digest('hex').slice(0, 32)}`
      this.#names.set(query.text, name)
    }
    return { ...query, name }
  }

  #query(sql: string, values: SqlValue[]): pg.QueryConfig {
    let text = this.#statements.get(sql)
    if (text === undefined) {
      text = inSchema(sql, this.schema)
      this.#statements.set(sql, text)
    }
    return { text, values, types: TYPES }
  }

  async #mapped<R>(step: () => Promise<R>): Promise<R> {
    try {
      return await step()
    } catch (error) {
      throw mapError(error, this.location, this.#settings.busyTimeoutMs)
    }
  }

  async #track<T>(work: () => Promise<T>): Promise<T> {
    if (this.#closing) throw new ClosedError('The index database')
    const running = work()
    this.#running.add(running)
    try {
      return await running
    } finally {
      this.#running.delete(running)
    }
  }
}

function locationOf(config: pg.ClientConfig): string {
  try {
    const { host, port, database } = new (driver().Client)(config)
    return `${host}:${port}/${database ?? ''}`
  } catch {
    // The driver's error quotes the address with its password.
    throw new ConfigError('address', '(hidden)', 'postgres://user:password@host:port/database')
  }
}
