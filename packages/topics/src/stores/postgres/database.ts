import { ClosedError, DatabaseUnreachableError } from '../../errors.ts'
import type { Logger } from '../../observe/logger.ts'
import { withTimeout } from '../../with-timeout.ts'
import type { Expected } from '../expected.ts'
import type { PoolUse } from '../inspection.ts'
import { NamespaceGuard } from '../namespace-guard.ts'
import type { Apart, Connections, Ear, Sender } from './connections.ts'
import { FunctionsRestoredError, isTransient, mapError, mayBeGone } from './database-errors.ts'
import { BUNDLE_HASH } from './function-bundle.ts'
import { expectedText, findIncarnation, goneError, requireRecords } from './incarnations.ts'
import type { Row } from './row.ts'
import { bundleSchemaName, inSchemas, schemaName } from './schema-name.ts'
import { MAINTENANCE_TIMEOUT_MS } from './statement-limits.ts'
import type { SingleConnection, Statements, Transaction } from './transaction.ts'

export type DatabaseOptions = {
  readonly connections: Connections
  readonly namespace: string
  readonly logger: Logger
  readonly statementTimeoutMs: number
}

const ATTEMPTS = 5
const CLOSE_MS = 5_000
/** How long connections have to say goodbye. */
const GOODBYE_MS = 1_000

/** One namespace of one server: its connections, and its errors as ours. */
export class Database implements Statements {
  readonly schema: string
  /** The schema of this version's functions. */
  readonly functions: string
  /** host:port/database, never a user or a password. */
  readonly location: string
  readonly logger: Logger
  readonly statementTimeoutMs: number
  /** Called where a statement may miss the functions of this version: true where they were missing and are back. */
  restoreFunctions: () => Promise<boolean> = async () => false
  /** Incarnation of the namespace, once it is open; operators need none. */
  incarnation: string | undefined
  readonly guard = new NamespaceGuard()
  readonly #connections: Connections
  readonly #statements = new Map<string, string>()
  readonly #running = new Set<Promise<unknown>>()
  #closing: Promise<void> | undefined

  constructor({ connections, namespace, logger, statementTimeoutMs }: DatabaseOptions) {
    this.schema = schemaName(namespace)
    this.functions = functionsOf(namespace)
    this.#connections = connections
    this.location = connections.location
    this.logger = logger
    this.statementTimeoutMs = statementTimeoutMs
  }

  /** Called whenever a connection turns out to be lost: the server may come back without its newest commits. */
  set onLostConnection(tell: () => void) {
    this.#connections.onLost = tell
  }

  /** A Buffer among the parameters is sent as it is, in PostgreSQL's binary format. */
  get sendsBinary(): boolean {
    return this.#connections.sendsBinary
  }

  /** Whoever publishes in a transaction of theirs may hold the only connection. */
  get isSingle(): boolean {
    return this.#connections.isSingle
  }

  /** Connections are ours, and each is one session of the server: statements can run outside a transaction. */
  get hasSessions(): boolean {
    return this.#connections.session !== undefined && this.#connections.keepsSessions
  }

  /** What is prepared in a connection stays; not so behind some poolers. */
  set keepsSessions(proven: boolean) {
    this.#connections.keepsSessions = proven
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

  /** Runs one statement in a transaction of its own; again where the server has undone it. */
  query(text: string, values: unknown[] = [], name?: string, limitMs = this.statementTimeoutMs): Promise<Row[]> {
    return again(() => this.#run(() => this.#connections.query({ text, values, name }, limitMs)))
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
    return again(() => this.#run(() => this.#transact(expected, work, limitMs)))
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
        const running = this.#connections.session?.(sender => work(this.#statementsOf(sender)), MAINTENANCE_TIMEOUT_MS)
        if (running === undefined) throw new Error('These connections are lent for transactions only')
        return await running
      })
    })
  }

  /** Rejects with a NamespaceGoneError where the namespace is not, or no longer, the one that was opened. */
  async requireNamespace(): Promise<void> {
    if (this.incarnation === undefined) return
    this.guard.assertThere()
    const look = async (text: string): Promise<{ rows: Row[] }> => ({
      rows: await this.#connections.query({ text, values: [] }, this.statementTimeoutMs),
    })
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

  /**
   * The look locks the row's table in the weakest way, so that the namespace can't be dropped before the transaction ends.
   */
  #transact<T>(expected: Expected | null, work: (tx: Transaction) => Promise<T>, limitMs: number): Promise<T> {
    const looks = expected !== null && this.incarnation !== undefined
    const look = looks ? this.sql(expectedText(expected)) : null
    const checked = async (sender: Sender, row: Row | undefined): Promise<T> => {
      if (looks) this.#requireExpected(expected, row)
      return await work(this.#statementsOf(sender))
    }
    return this.#connections.transaction(look, checked, limitMs)
  }

  #requireExpected(expected: Expected, row: Row | undefined): void {
    this.assertIncarnation(row?.incarnation)
    requireRecords(expected, row)
  }

  #statementsOf(sender: Sender): SingleConnection {
    return {
      schema: this.schema,
      functions: this.functions,
      location: this.location,
      sql: template => this.sql(template),
      query: (text, values = [], name) => sender.query({ text, values, name }),
      exec: text => sender.exec(text),
    }
  }

  /** A connection apart from all others; undefined where they are not ours to make. */
  apart(limitMs: number): Apart | undefined {
    return this.#connections.apart?.(limitMs)
  }

  get canListen(): boolean {
    return this.#connections.listen !== undefined
  }

  async listen(heard: (payload: string | null) => void, limitMs: number, signal: AbortSignal): Promise<Ear> {
    const listening = this.#connections.listen?.(this.schema, heard, { limitMs, signal })
    if (listening === undefined) throw new Error('These connections have no LISTEN')
    return await listening
  }

  poolUse(): PoolUse {
    return this.#connections.use()
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
    await this.#connections.close(GOODBYE_MS)
    await Promise.allSettled(this.#running)
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
      if (explained instanceof DatabaseUnreachableError) this.#connections.onLost()
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

/** The schema of this version's functions for a namespace. */
export const functionsOf = (namespace: string): string => bundleSchemaName(schemaName(namespace), BUNDLE_HASH)
