import { ClosedError, DatabaseUnreachableError, OutcomeUnknownError } from '../../errors.ts'
import type { Logger } from '../../observe/logger.ts'
import { withTimeout } from '../../with-timeout.ts'
import type { Expected } from '../expected.ts'
import type { PoolUse } from '../inspection.ts'
import { NamespaceGuard } from '../namespace-guard.ts'
import type { Apart, Connections, Ear, Sender } from './connections.ts'
import { CommitError, FunctionsRestoredError, isTransient, mapError, mayBeGone } from './database-errors.ts'
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

const CLOSE_MS = 5_000
/** How long connections have to close cleanly. */
const GOODBYE_MS = 1_000

/** One namespace on one server: its connections, with errors mapped to Tidemark's. */
export class Database implements Statements {
  readonly schema: string
  /** The schema of this version's functions. */
  readonly functions: string
  /** host:port/database, never a user or a password. */
  readonly location: string
  readonly logger: Logger
  readonly statementTimeoutMs: number
  /** Called if a statement may miss the functions of this version: true if they were missing and are restored. */
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

  /** Called whenever a connection is found to be lost: the server may come back without its newest commits. */
  set onLostConnection(tell: () => void) {
    this.#connections.onLost = tell
  }

  /** Whether Buffer parameters are sent unchanged, in PostgreSQL's binary format. */
  get sendsBinary(): boolean {
    return this.#connections.sendsBinary
  }

  /** Whether there is only one connection, which a caller that publishes in its own transaction occupies. */
  get isSingle(): boolean {
    return this.#connections.isSingle
  }

  /**
   * Whether these are our own connections, each one session of the server, so that statements can run outside a
   * transaction.
   */
  get hasSessions(): boolean {
    return this.#connections.session !== undefined && this.#connections.keepsSessions
  }

  /** Whether prepared statements stay in a connection; behind some poolers they do not. */
  set keepsSessions(proven: boolean) {
    this.#connections.keepsSessions = proven
  }

  /** The statement with the schemas of this namespace's tables and functions filled in. */
  sql(template: string): string {
    let text = this.#statements.get(template)
    if (text === undefined) {
      text = inSchemas(template, { tables: this.schema, functions: this.functions })
      this.#statements.set(template, text)
    }
    return text
  }

  /** Runs one statement in its own transaction, and retries if the server rolled it back. */
  query(text: string, values: unknown[] = [], name?: string, limitMs = this.statementTimeoutMs): Promise<Row[]> {
    return this.#run(() => this.#connections.query({ text, values, name }, limitMs), READS)
  }

  /**
   * Runs `work` in a transaction, and retries if the server rolled it back. It begins by checking that the namespace
   * and the expected records are still the same; otherwise it changes nothing and rejects. Frequent statements
   * (publish, claim, settle, heartbeat) include that check themselves. `null`: no check. `limitMs`: timeout of each
   * statement.
   */
  transaction<T>(
    expected: Expected | null,
    work: (tx: Transaction) => Promise<T>,
    limitMs = this.statementTimeoutMs,
  ): Promise<T> {
    return this.#run(() => this.#transact(expected, work, limitMs))
  }

  /** Like `transaction`, for work that only reads: there is no outcome that could be unknown. */
  read<T>(expected: Expected | null, work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.#run(() => this.#transact(expected, work, this.statementTimeoutMs), READS)
  }

  /** Like `transaction`, for maintenance and operator steps, whose statements may take long. */
  maintenance<T>(expected: Expected | null, work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.transaction(expected, work, MAINTENANCE_TIMEOUT_MS)
  }

  /**
   * One connection for statements that can't run in a transaction. It is not reused, so settings made by `work` end
   * with it. A transaction beside it holds the expected records, and may be idle for as long as that takes.
   */
  session<T>(expected: Expected, work: (connection: SingleConnection) => Promise<T>): Promise<T> {
    return this.transaction(expected, async holder => {
      await holder.exec(`set local idle_in_transaction_session_timeout = ${2 * MAINTENANCE_TIMEOUT_MS}`)
      return await this.#run(async () => {
        const running = this.#connections.session?.(sender => work(this.#statementsOf(sender)), MAINTENANCE_TIMEOUT_MS)
        if (running === undefined) throw new Error('These connections are lent for transactions only')
        return await running
      }, ONCE)
    })
  }

  /** Rejects with a NamespaceGoneError if the namespace is no longer the one that was opened. */
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

  /** For a statement that also reads the namespace's incarnation: throws if it is not the one that was opened. */
  assertIncarnation(found: string | null | undefined): void {
    if (this.incarnation === undefined || found === this.incarnation) return
    throw this.guard.gone(goneError(this, found ?? null))
  }

  /** Maps a driver error to a Tidemark error. A missing object may mean that the whole namespace is gone. */
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
   * The check takes the weakest lock on the row's table, so that the namespace can't be dropped before the transaction
   * ends.
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

  /** A dedicated connection; undefined if connections are lent by the program. */
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

  /** Whether a statement gets a connection of the pool at once. */
  get hasRoom(): boolean {
    const { size, busy, waiting } = this.#connections.use()
    return busy < size && waiting === 0
  }

  poolUse(): PoolUse {
    return this.#connections.use()
  }

  /**
   * Waits for running calls and for calls that wait for a connection (the pool itself would leave those waiting for
   * ever), but no longer than this. Then every connection is cut, and what still runs fails.
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

  /**
   * Retries while the server rolls it back: because of another transaction, or because functions were missing that are
   * restored by now. One function: each layer more would cost every publish.
   */
  async #run<T>(work: () => Promise<T>, { attempts, isReading }: Attempts = WRITES): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      if (this.#closing) throw new ClosedError('The store')
      this.guard.assertThere()
      const running = work()
      this.#running.add(running)
      try {
        return await running
      } catch (error) {
        const explained = await this.explain(isReading && error instanceof CommitError ? error.cause : error)
        const isLost = [DatabaseUnreachableError, OutcomeUnknownError].some(each => explained instanceof each)
        if (isLost) this.#connections.onLost()
        if (!isUndone(explained) || attempt === attempts) throw explained
      } finally {
        this.#running.delete(running)
      }
    }
  }
}

/** `isReading`: a lost COMMIT is an error like any other: nothing was to be stored, or the caller judges that. */
type Attempts = { readonly attempts: number; readonly isReading: boolean }

const WRITES: Attempts = { attempts: 5, isReading: false }
const READS: Attempts = { ...WRITES, isReading: true }
const ONCE: Attempts = { ...WRITES, attempts: 1 }

const isUndone = (error: unknown): boolean =>
  error instanceof FunctionsRestoredError || (error instanceof Error && isTransient(error.cause))

/** The schema of this version's functions for a namespace. */
export const functionsOf = (namespace: string): string => bundleSchemaName(schemaName(namespace), BUNDLE_HASH)
