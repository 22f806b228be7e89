import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { StatementSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import { ClosedError } from 'tidemark'
import { retryDelayMs } from '../../backoff.ts'
import { createPrivateFile, PRIVATE_FOLDER } from '../../private-files.ts'
import { IndexFileAwayError, IndexGoneError, IndexReadingError, IndexVersionError } from '../errors.ts'
import type { IndexConnection } from '../index-connection.ts'
import type { IndexSettings } from '../index-database.ts'
import { IndexMeter } from '../index-meter.ts'
import { NoNesting } from '../no-nesting.ts'
import type { SqlValue, Transaction } from '../transaction.ts'
import { inSqlite, SQLITE } from './dialect.ts'
import { isBusy, mapError } from './engine-errors.ts'
import { DatabaseSync } from './node-sqlite.ts'

/** Short at first: a transaction of another process takes about a millisecond. */
const BUSY = { initialMs: 0.5, maxMs: 20, factor: 2, jitter: 0.5 }

/** Older versions can corrupt a WAL database when a write and a checkpoint coincide. */
const OLDEST_SQLITE = [3, 51, 3] as const

/**
 * One file with a connection for writing and one for reading. Writers of this process queue up; a file locked by
 * another process is retried later. The event loop is never blocked.
 */
export class SqliteConnection implements IndexConnection {
  readonly dialect = SQLITE
  readonly path: string
  readonly meter = new IndexMeter()
  readonly #settings: IndexSettings
  /** null if opened for reading. */
  readonly #writer: Statements | null
  readonly #reader: Statements
  readonly #nesting: NoNesting
  readonly #identity: string | undefined
  /** Settles when the last queued writer is done. */
  #queue: Promise<unknown> = Promise.resolve()
  #closing: Promise<void> | undefined
  #waiting = 0
  readonly #tables = new Set<string>()

  constructor(path: string, settings: IndexSettings) {
    this.path = path
    this.#settings = settings
    this.#nesting = new NoNesting(path)
    try {
      if (settings.create) {
        mkdirSync(dirname(path), { recursive: true, mode: PRIVATE_FOLDER })
        createPrivateFile(path)
      }
      this.#writer = settings.readOnly ? null : new Statements(path)
      this.#reader = new Statements(path)
      this.#identity = identityOf(path)
    } catch (error) {
      throw mapError(error, path)
    }
  }

  /** Number of writers that wait for another process. */
  get waiting(): number {
    return this.#waiting
  }

  async prepareForUse(): Promise<void> {
    const versions = await this.read<{ version: string }>('select sqlite_version() as version')
    requireVersion(versions[0]?.version ?? '')
    this.#reader.db.exec('pragma query_only = on')
    const writer = this.#writer
    if (writer === null) return
    await this.#retryWhileBusy(() => writer.rows('pragma journal_mode = wal'))
    const synchronous = this.#settings.durability === 'full' ? 'full' : 'normal'
    await this.#retryWhileBusy(() => writer.db.exec(`pragma synchronous = ${synchronous}`))
    writer.db.exec('pragma foreign_keys = on')
  }

  async read<T>(sql: string, ...values: SqlValue[]): Promise<T[]> {
    this.#requireOpen()
    return await this.meter.read(() => this.#retryWhileBusy(() => this.#reader.rows<T>(sql, ...values)))
  }

  async hasTable(name: string, tx?: Transaction): Promise<boolean> {
    if (tx !== undefined) return (await tx.rows(SQLITE.tableExists, name)).length > 0
    if (this.#tables.has(name)) return true
    const found = await this.read(SQLITE.tableExists, name)
    if (found.length > 0) this.#tables.add(name)
    return found.length > 0
  }

  async hasColumn(table: string, column: string, tx?: Transaction): Promise<boolean> {
    if (tx !== undefined) return (await tx.rows(SQLITE.columnExists, table, column)).length > 0
    const name = `${table}.${column}`
    if (this.#tables.has(name)) return true
    const found = await this.read(SQLITE.columnExists, table, column)
    if (found.length > 0) this.#tables.add(name)
    return found.length > 0
  }

  async transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    this.#requireOpen()
    this.#nesting.check()
    const turn = this.#queue.then(() => this.meter.transaction(() => this.#transact(work)))
    this.#queue = turn.catch(() => undefined)
    return await turn
  }

  /** A writing transaction locks the file from its start. */
  async lock(): Promise<void> {}

  /** As far as readers allow; the next checkpoint does the rest. */
  async checkpoint(): Promise<void> {
    this.#requireOpen()
    const writer = this.#requireWriter()
    const turn = this.#queue.then(() => this.#retryWhileBusy(() => writer.rows('pragma wal_checkpoint(passive)')))
    this.#queue = turn.catch(() => undefined)
    await turn
  }

  /** Runs several statements, for migrations; call it in a transaction. */
  exec(sql: string): void {
    this.#requireWriter().db.exec(sql)
  }

  close(): Promise<void> {
    this.#closing ??= this.#queue.then(() => {
      this.#reader.close()
      this.#writer?.close()
    })
    return this.#closing
  }

  async #transact<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    const writer = this.#requireWriter()
    this.#requireInPlace()
    await this.#retryWhileBusy(() => writer.run('begin immediate'))
    let isOpen = true
    // Errors of `work` are passed on unchanged; only errors of statements are mapped.
    const run = async <R>(step: () => R): Promise<R> => {
      if (!isOpen) throw new ClosedError('The transaction')
      return this.#mapped(step)
    }
    try {
      const result = await this.#nesting.run(() =>
        work({
          rows: (sql, ...values) => run(() => writer.rows(sql, ...values)),
          run: (sql, ...values) => run(() => writer.run(sql, ...values)),
        }),
      )
      this.#mapped(() => writer.run('commit'))
      return result
    } catch (error) {
      if (writer.db.isTransaction) writer.run('rollback')
      throw error
    } finally {
      isOpen = false
    }
  }

  #mapped<R>(step: () => R): R {
    try {
      return step()
    } catch (error) {
      throw mapError(error, this.path)
    }
  }

  async #retryWhileBusy<T>(step: () => T): Promise<T> {
    const started = performance.now()
    for (let attempt = 0; ; attempt++) {
      try {
        return step()
      } catch (error) {
        const waited = performance.now() - started
        if (!isBusy(error) || waited > this.#settings.busyTimeoutMs) throw mapError(error, this.path, waited)
        this.#waiting++
        await delay(retryDelayMs(attempt, BUSY)).finally(() => this.#waiting--)
      }
    }
  }

  #requireWriter(): Statements {
    if (this.#writer === null) throw new IndexReadingError(this.path)
    return this.#writer
  }

  /** What is written to a file that was moved or deleted would be lost unnoticed. */
  #requireInPlace(): void {
    const identity = this.#mapped(() => identityOf(this.path))
    if (identity === undefined) throw new IndexFileAwayError(this.path)
    if (identity !== this.#identity) throw new IndexGoneError(this.path)
  }

  #requireOpen(): void {
    if (this.#closing) throw new ClosedError('The index database')
  }
}

/** A connection and its prepared statements. */
class Statements {
  readonly db: DatabaseSync
  readonly #prepared = new Map<string, StatementSync>()

  constructor(path: string) {
    // SQLite itself must not wait, because that would block the event loop.
    this.db = new DatabaseSync(path, { timeout: 0 })
  }

  rows<T>(sql: string, ...values: SqlValue[]): T[] {
    return this.#statement(sql).all(...values.map(bound)) as T[]
  }

  run(sql: string, ...values: SqlValue[]): number {
    return Number(this.#statement(sql).run(...values.map(bound)).changes)
  }

  close(): void {
    this.#prepared.clear()
    if (this.db.isOpen) this.db.close()
  }

  #statement(sql: string): StatementSync {
    let statement = this.#prepared.get(sql)
    if (statement === undefined) {
      statement = this.db.prepare(inSqlite(sql))
      this.#prepared.set(sql, statement)
    }
    return statement
  }
}

/** Identity of the file, or undefined if it does not exist. */
function identityOf(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false })
  return found && `${found.dev}:${found.ino}`
}

/** SQLite has no booleans. */
const bound = (value: SqlValue): Exclude<SqlValue, boolean> => (typeof value === 'boolean' ? Number(value) : value)

export function requireVersion(version: string): void {
  const parts = version.split('.').map(Number)
  const differs = OLDEST_SQLITE.findIndex((least, index) => parts[index] !== least)
  if (differs === -1 || (parts[differs] ?? 0) > (OLDEST_SQLITE[differs] ?? 0)) return
  throw new IndexVersionError(
    `This Node has SQLite ${version}, which has a bug that can corrupt a database; ` +
      `the index needs ${OLDEST_SQLITE.join('.')} or later. Update Node`,
  )
}
