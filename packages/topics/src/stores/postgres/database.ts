import pg from 'pg'
import { ClosedError, ConfigError, DatabaseUnreachableError } from '../../errors.ts'
import type { Logger } from '../../observe/logger.ts'
import { withTimeout } from '../../with-timeout.ts'
import type { Expected } from '../expected.ts'
import type { PoolUse } from '../inspection.ts'
import { NamespaceGuard } from '../namespace-guard.ts'
import { FunctionsRestoredError, isTransient, mapError, mayBeGone } from './database-errors.ts'
import { BUNDLE_HASH } from './function-bundle.ts'
import { expectedText, findIncarnation, goneError, requireRecords } from './incarnations.ts'
import type { Row } from './row.ts'
import { bundleSchemaName, inSchemas, schemaName } from './schema-name.ts'
import { Session, type SessionConfig } from './session.ts'
import { applySettings } from './session-settings.ts'
import type { SingleConnection, Statements, Transaction } from './transaction.ts'

export type DatabaseOptions = {
  readonly url: string
  readonly namespace: string
  readonly poolSize: number
  readonly applicationName: string
  readonly logger: Logger
  readonly statementTimeoutMs?: number
}

/** A session of the pool, to be given back. */
type PooledSession = Session & Pick<pg.PoolClient, 'release'>

/** A statement of publish, claim or settle takes milliseconds. */
export const STATEMENT_TIMEOUT_MS = 30_000
/** Steps of maintenance and of operators may read or rewrite a good part of a log. */
export const MAINTENANCE_TIMEOUT_MS = 600_000
/** Migrations and repairs rewrite everything there is, in one transaction. */
export const REWRITE_TIMEOUT_MS = 86_400_000

/** The kernel asks a silent peer whether it is there; a proxy that goes silent is found by the deadlines alone. */
const KEEP_ALIVE_MS = 10_000
const ATTEMPTS = 5
const CLOSE_MS = 5_000
/** How long sessions that are idle have to say goodbye when the pool ends. */
const GOODBYE_MS = 1_000

/** All values as the text the server sent: we know what each means, and dates or arrays would cost a parse. */
const AS_TEXT = { getTypeParser: () => (value: string) => value }

/** One namespace of one server: its connections, and its errors as ours. */
export class Database implements Statements {
  readonly schema: string
  /** The schema of this version's functions. */
  readonly functions: string
  /** host:port/database, never a user or a password. */
  readonly location: string
  readonly logger: Logger
  readonly statementTimeoutMs: number
  /** A connection is one session of the server, so what is prepared in it stays; not so behind some poolers. */
  keepsSessions = false
  /** Called whenever a connection turns out to be lost: the server may come back without its newest commits. */
  onLostConnection: () => void = () => {}
  /** Called where a statement may miss the functions of this version: true where they were missing and are back. */
  restoreFunctions: () => Promise<boolean> = async () => false
  /** Of the namespace, once it is open; an operator's own look needs none. */
  incarnation: string | undefined
  readonly guard = new NamespaceGuard()
  readonly #pool: pg.Pool
  readonly #sessionConfig: SessionConfig
  readonly #statements = new Map<string, string>()
  readonly #running = new Set<Promise<unknown>>()
  /** Every connection there is, those outside the pool and those being made included. */
  readonly #sessions = new Set<Session>()
  /** When the latest statement was sent that was never answered: who has not answered since is not to be trusted. */
  #silentSince = Number.NEGATIVE_INFINITY
  #closing: Promise<void> | undefined

  constructor({ url, namespace, poolSize, applicationName, logger, statementTimeoutMs }: DatabaseOptions) {
    this.schema = schemaName(namespace)
    this.functions = bundleSchemaName(this.schema, BUNDLE_HASH)
    this.logger = logger
    this.statementTimeoutMs = statementTimeoutMs ?? STATEMENT_TIMEOUT_MS
    this.#sessionConfig = {
      connectionString: url,
      application_name: applicationName,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
      connectionTimeoutMillis: this.statementTimeoutMs,
      limitMs: this.statementTimeoutMs,
      onSilence: sentAt => {
        this.#silentSince = Math.max(this.#silentSince, sentAt)
        this.onLostConnection()
      },
    }
    this.location = locationOf(this.#sessionConfig)
    const config = this.#sessionConfig
    const keep = (session: Session): Session => this.#keep(session)
    const Client = class extends Session {
      constructor() {
        super(config)
        keep(this)
      }
    }
    this.#pool = new pg.Pool({ ...config, max: poolSize, Client })
    // An idle connection that breaks is replaced when the next one is asked for.
    this.#pool.on('error', error => logger.debug({ err: error }, 'an idle database connection broke'))
  }

  /** The statement with the schemas of this namespace's tables and functions in it. */
  sql(template: string): string {
    let text = this.#statements.get(template)
    if (text === undefined) {
      text = inSchemas(template, { tables: this.schema, functions: this.functions })
      this.#statements.set(template, text)
    }
    return text
  }

  /** Runs one statement in a transaction of its own, in one round trip; again where the server has undone it. */
  query(text: string, values: unknown[] = [], name?: string): Promise<Row[]> {
    const config = this.#config(text, values, name)
    const send = (session: PooledSession) => session.query<Row>(config)
    return again(() => this.#run(async () => (await this.#lend(send, this.statementTimeoutMs)).rows))
  }

  /**
   * Runs `work` in a transaction, again where the server has undone it. It begins with a look whether the namespace, and the
   * records that are expected, are still those: otherwise it changes nothing, and rejects. Statements that are sent all the
   * time (publish, claim, settle, heartbeat) have that look within them. `null`: no look. `limitMs`: what each of its
   * statements may take.
   */
  transaction<T>(
    expected: Expected | null,
    work: (tx: Transaction) => Promise<T>,
    limitMs = this.statementTimeoutMs,
  ): Promise<T> {
    return again(() => this.#run(() => this.#lend(session => this.#transact(session, expected, work), limitMs)))
  }

  /** As `transaction`, for a step of maintenance or of an operator, whose statements may take long. */
  maintenance<T>(expected: Expected | null, work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.transaction(expected, work, MAINTENANCE_TIMEOUT_MS)
  }

  /**
   * One connection for statements that can't run in a transaction. It is not used again, so what `work` sets ends with it.
   * What is expected is held by a transaction beside it, which may be idle for as long as that takes.
   */
  session<T>(expected: Expected, work: (connection: SingleConnection) => Promise<T>): Promise<T> {
    return this.transaction(expected, async holder => {
      await holder.exec(`set local idle_in_transaction_session_timeout = ${2 * MAINTENANCE_TIMEOUT_MS}`)
      return await this.#run(async () => {
        const session = await this.#acquire(MAINTENANCE_TIMEOUT_MS)
        try {
          return await work(this.#statementsOf(session))
        } finally {
          session.release(true)
        }
      })
    })
  }

  /** Rejects with a NamespaceGoneError where the namespace is not, or no longer, the one that was opened. */
  async requireNamespace(): Promise<void> {
    if (this.incarnation === undefined) return
    this.guard.assertThere()
    const look = (text: string): Promise<pg.QueryResult<Row>> =>
      this.#lend(session => session.query<Row>({ text, types: AS_TEXT }), this.statementTimeoutMs)
    const found = await findIncarnation(this, look).catch(error => {
      throw mapError(error, this.location, this.statementTimeoutMs)
    })
    this.assertIncarnation(found)
  }

  /** For a statement that reads the namespace's incarnation besides: throws where it is not the one that was opened. */
  assertIncarnation(found: string | null | undefined): void {
    if (this.incarnation === undefined || found === this.incarnation) return
    throw this.guard.gone(goneError(this, found ?? null))
  }

  /** An error of the driver as one of ours: what a statement misses may be missing with the whole namespace. */
  async explain(error: unknown, limitMs = this.statementTimeoutMs): Promise<unknown> {
    try {
      if (mayBeGone(error)) await this.requireNamespace()
      if (mayBeGone(error) && (await this.restoreFunctions())) return new FunctionsRestoredError(this.location, error)
    } catch (gone) {
      return gone
    }
    return mapError(error, this.location, limitMs)
  }

  async #transact<T>(
    session: PooledSession,
    expected: Expected | null,
    work: (tx: Transaction) => Promise<T>,
  ): Promise<T> {
    try {
      await this.#begin(session, expected)
      const result = await work(this.#statementsOf(session))
      await session.query('commit')
      return result
    } catch (error) {
      // What can't be rolled back is undone when the connection is dropped, as it is after any error.
      if (!session.isGone) await session.query('rollback').catch(() => undefined)
      throw error
    }
  }

  #statementsOf(session: PooledSession): SingleConnection {
    return {
      schema: this.schema,
      functions: this.functions,
      location: this.location,
      sql: template => this.sql(template),
      query: async (text, values = [], name) => (await session.query<Row>(this.#config(text, values, name))).rows,
      exec: async text => void (await session.query(text)),
    }
  }

  #config(text: string, values: unknown[], name: string | undefined): pg.QueryConfig {
    return { text, values, types: AS_TEXT, ...(name !== undefined && this.keepsSessions && { name }) }
  }

  /**
   * The look locks the row's table in the weakest way, so that the namespace can't be dropped before the transaction ends.
   */
  async #begin(session: PooledSession, expected: Expected | null): Promise<void> {
    if (expected === null || this.incarnation === undefined) {
      await session.query('begin')
      return
    }
    const text = `begin; ${this.sql(expectedText(expected))}`
    const results = (await session.query({ text, types: AS_TEXT })) as unknown as pg.QueryResult<Row>[]
    const row = results.at(-1)?.rows[0]
    this.assertIncarnation(row?.incarnation)
    requireRecords(expected, row)
  }

  /** A connection outside the pool, not yet connected. `limitMs`: for connecting, and for each statement. */
  newSession(limitMs = this.statementTimeoutMs): Session {
    return this.#keep(new Session({ ...this.#sessionConfig, limitMs, connectionTimeoutMillis: limitMs }))
  }

  poolUse(): PoolUse {
    const { totalCount, idleCount, waitingCount } = this.#pool
    return { size: this.#pool.options.max ?? totalCount, busy: totalCount - idleCount, waiting: waitingCount }
  }

  /**
   * Waits for what runs, or waits for a connection (the pool itself would leave those waiting for ever), but no longer than
   * this: then every connection is cut, and what still runs fails.
   */
  close(withinMs = CLOSE_MS): Promise<void> {
    this.#closing ??= this.#close(withinMs)
    return this.#closing
  }

  async #close(withinMs: number): Promise<void> {
    await withTimeout(Promise.allSettled(this.#running), withinMs)
    const all = [...this.#sessions]
    await withTimeout(Promise.all([this.#pool.end(), ...all.map(session => session.gone)]), GOODBYE_MS)
    for (const session of all) session.destroy()
    await Promise.allSettled(this.#running)
  }

  #keep(session: Session): Session {
    this.#sessions.add(session)
    // Not of one that was left in good order.
    session.on('error', () => this.onLostConnection())
    void session.gone.then(() => this.#sessions.delete(session))
    return session
  }

  async #lend<T>(work: (session: PooledSession) => Promise<T>, limitMs: number): Promise<T> {
    const session = await this.#acquire(limitMs)
    let isBroken = true
    try {
      const result = await work(session)
      isBroken = false
      return result
    } finally {
      session.release(isBroken)
    }
  }

  /** One that may be trusted to answer, and that the server treats as it should. */
  async #acquire(limitMs: number): Promise<PooledSession> {
    for (;;) {
      const session = (await this.#pool.connect()) as PooledSession
      if (session.answeredAt < this.#silentSince) {
        // Idle since before another fell silent: most likely their way is the same.
        session.destroy()
        session.release(true)
        continue
      }
      session.limitMs = Math.max(limitMs, this.statementTimeoutMs)
      try {
        await applySettings(session, this.keepsSessions, this.statementTimeoutMs)
        return session
      } catch (error) {
        session.release(true)
        throw error
      }
    }
  }

  async #run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#closing) throw new ClosedError('The store')
    this.guard.assertThere()
    const running = work()
    this.#running.add(running)
    try {
      return await running
    } catch (error) {
      const explained = await this.explain(error)
      if (explained instanceof DatabaseUnreachableError) this.onLostConnection()
      throw explained
    } finally {
      this.#running.delete(running)
    }
  }
}

/** As long as the server undoes it: for another transaction's sake, or because it missed functions that are back by now. */
async function again<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      const isUndone = error instanceof FunctionsRestoredError || (error instanceof Error && isTransient(error.cause))
      if (!isUndone || attempt === ATTEMPTS) throw error
    }
  }
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
