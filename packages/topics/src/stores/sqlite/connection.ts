import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import { DatabaseError, DatabaseVersionError } from '../../errors.ts'
import { isBusy, mapError } from './sqlite-errors.ts'
import { WalSync } from './wal-sync.ts'
import { WriteQueue } from './write-queue.ts'

/** Older versions can corrupt a WAL database when a write and a checkpoint meet. */
export const OLDEST_SQLITE = [3, 51, 3] as const

export type ConnectionOptions = {
  readonly path: string
  readonly durability: 'full' | 'process'
  readonly busyTimeoutMs: number
}

/**
 * One connection, used from one thread: a transaction runs from begin to commit without giving way, so statements of two
 * callers never mix. A database that another process writes to is tried again later; the event loop is never blocked on it.
 */
export class Connection {
  readonly path: string
  readonly #db: DatabaseSync
  readonly #options: ConnectionOptions
  readonly #statements = new Map<string, StatementSync>()
  readonly #writes = new WriteQueue(body => this.retryWhileBusy(() => this.#transaction(body)))
  #syncsItself = false
  #walSync: Promise<WalSync> | undefined
  /** Writers of other processes met so far. */
  busyCount = 0
  #waiting = 0

  constructor(options: ConnectionOptions) {
    this.#options = options
    this.path = options.path
    try {
      if (options.path !== ':memory:') mkdirSync(dirname(options.path), { recursive: true })
      this.#db = new DatabaseSync(options.path, { timeout: 0 })
    } catch (error) {
      throw mapError(error, options.path)
    }
  }

  async prepareForUse(): Promise<void> {
    const { version } = await this.retryWhileBusy(() =>
      requiredRow<{ version: string }>(this.prepare('select sqlite_version() as version')),
    )
    if (!isAtLeast(version, OLDEST_SQLITE)) {
      throw new DatabaseVersionError(
        `This Node has SQLite ${version}, which has a bug that can corrupt a database; ` +
          `Tidemark needs ${OLDEST_SQLITE.join('.')} or later. Update Node`,
      )
    }
    const mode = await this.retryWhileBusy(() =>
      rowOf<{ journal_mode: string }>(this.prepare('pragma journal_mode = wal')),
    )
    const wal = mode?.journal_mode === 'wal'
    // Where there is no WAL (a memory database, some file systems) SQLite itself syncs.
    this.#db.exec(`pragma synchronous = ${wal || this.#options.durability === 'process' ? 'normal' : 'full'}`)
    this.#db.exec('pragma foreign_keys = on')
    this.#syncsItself = wal && this.#options.durability === 'full'
  }

  /** A statement, prepared once. */
  prepare(sql: string): StatementSync {
    let statement = this.#statements.get(sql)
    if (statement === undefined) {
      try {
        statement = this.#db.prepare(sql)
      } catch (error) {
        // A busy database is left to retryWhileBusy, which knows it by SQLite's own error.
        throw isBusy(error) ? error : mapError(error, this.path)
      }
      this.#statements.set(sql, statement)
    }
    return statement
  }

  exec(sql: string): void {
    this.#db.exec(sql)
  }

  /** The database's clock, in milliseconds: the same for all processes, whatever one of them believes. */
  now(): number {
    return nowBy(sql => this.prepare(sql))
  }

  /**
   * Runs `body` in a write transaction, with the bodies of others that come meanwhile. `durable`: on the disk before this
   * resolves; otherwise a power failure may undo it, as it may undo the claims that nobody depends on.
   */
  async write<T>(durable: boolean, body: () => T): Promise<T> {
    const result = await this.#writes.add(body)
    if (durable && this.#syncsItself) await this.#sync()
    return result
  }

  /** Runs `body` as one reader: the file is locked and unlocked once, not for each statement. */
  read<T>(body: () => T): T {
    if (this.#db.isTransaction) return body()
    this.#run('begin')
    try {
      return body()
    } finally {
      if (this.#db.isTransaction) this.#run('commit')
    }
  }

  async retryWhileBusy<T>(step: () => T): Promise<T> {
    const started = performance.now()
    for (let attempt = 0; ; attempt++) {
      try {
        return step()
      } catch (error) {
        const waited = performance.now() - started
        if (!isBusy(error) || waited > this.#options.busyTimeoutMs) throw mapError(error, this.path, waited)
        this.busyCount++
        this.#waiting++
        // Short at first: another process's transaction takes about a millisecond.
        await delay(Math.min(20, 0.5 * 2 ** attempt) * (0.5 + Math.random())).finally(() => this.#waiting--)
      }
    }
  }

  get waiting(): number {
    return this.#waiting
  }

  async close(): Promise<void> {
    await this.#writes.drain()
    // One that could not be opened has nothing to close.
    const walSync = await this.#walSync?.catch(() => undefined)
    await walSync?.close()
    this.#walSync = undefined
    if (this.#db.isOpen) this.#db.close()
  }

  async #sync(): Promise<void> {
    // The log file is there once a transaction has committed.
    this.#walSync ??= WalSync.of(this.path)
    try {
      await (await this.#walSync).flush()
    } catch (error) {
      throw mapError(error, this.path)
    }
  }

  #transaction<T>(body: () => T): T {
    this.#run('begin immediate')
    try {
      const result = body()
      this.#run('commit')
      return result
    } catch (error) {
      if (this.#db.isTransaction) this.#run('rollback')
      throw error
    }
  }

  #run(sql: string): void {
    this.prepare(sql).run()
  }
}

/** The rows of a statement, as the type its `select` list has. */
export const rowsOf = <T>(statement: StatementSync, ...values: SqlValue[]): T[] => statement.all(...values) as T[]
export const rowOf = <T>(statement: StatementSync, ...values: SqlValue[]): T | undefined =>
  statement.get(...values) as T | undefined

export type SqlValue = string | number | bigint | null | Uint8Array

/** A row that must be there. */
export function requiredRow<T>(statement: StatementSync, ...values: SqlValue[]): T {
  const row = statement.get(...values)
  if (row === undefined) throw new DatabaseError(`A row that must exist is missing (${statement.sourceSQL})`)
  return row as T
}

/** The same, in a caller's own transaction. */
export const nowBy = (prepare: (sql: string) => StatementSync): number =>
  requiredRow<{ now: number }>(prepare("select cast(round(unixepoch('subsec') * 1000) as integer) as now")).now

export function isAtLeast(version: string, oldest: readonly number[]): boolean {
  const parts = version.split('.').map(Number)
  for (const [index, least] of oldest.entries()) {
    const part = parts[index] ?? 0
    if (part !== least) return part > least
  }
  return true
}
