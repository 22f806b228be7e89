import { realpathSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { type Backoff, backoffMs, spread } from '../../backoff.ts'
import {
  DatabaseFullError,
  DatabaseMovedError,
  DatabaseReadOnlyError,
  NamespaceGoneError,
  OutcomeUnknownError,
  SyncError,
  TidemarkError,
  TransactionError,
} from '../../errors.ts'
import type { Expected } from '../expected.ts'
import type { ClockReading } from '../inspection.ts'
import { NamespaceGuard } from '../namespace-guard.ts'
import { type CallersConnection, CallersConnections } from './callers-connections.ts'
import {
  agoBy,
  asOfNow,
  judgeClock,
  needsJudgement,
  nowBy,
  readClock,
  startClock,
  TOUCH_MS,
  touchClock,
} from './clock.ts'
import type { SqliteDatabase, SqliteDriver, SqliteStatement } from './driver.ts'
import { nodeSqlite } from './drivers/node-sqlite.ts'
import { type FileChange, FileIdentity } from './file-identity.ts'
import { findIncarnation, goneError, requireRecords } from './incarnations.ts'
import { createPrivateFile, foldersOf } from './private-file.ts'
import { requiredRow, rowOf } from './rows.ts'
import { isBusy, mapError } from './sqlite-errors.ts'
import { isAtLeast, OLDEST_SQLITE, olderError, walError } from './sqlite-version.ts'
import type { Transaction } from './transaction.ts'
import { WalSync } from './wal-sync.ts'
import { WriteQueue } from './write-queue.ts'

/** How long a call waits for a transaction of its own process. */
const OWN_PATIENCE_MS = 500

/** Short at first: another process's transaction takes about a millisecond. */
const BUSY: Backoff = { initialMs: 0.5, maxMs: 20, factor: 2 }

/** Pages in the log, SQLite's own default. */
const CHECKPOINT_AFTER = 1_000

export type ConnectionOptions = {
  /** Default: that of Node itself. */
  readonly driver?: SqliteDriver
  readonly path: string
  readonly durability: 'full' | 'process'
  readonly busyTimeoutMs: number
}

/**
 * One connection, used from one thread: a transaction runs from begin to commit without giving way, so statements of two
 * callers never mix. A database that another process writes to is tried again later; the event loop is never blocked on it.
 */
export class Connection implements Transaction {
  readonly path: string
  /** Where `path` leads: SQLite keeps the log beside the file itself, not beside a link to it. */
  readonly realPath: string
  readonly #driver: SqliteDriver
  readonly #db: SqliteDatabase
  readonly #options: ConnectionOptions
  readonly #statements = new Map<string, SqliteStatement>()
  readonly #writes = new WriteQueue(body => this.#retry(() => this.#transaction(body)))
  readonly #wal: WalSync
  readonly #prepare = (sql: string): SqliteStatement => this.prepare(sql)
  readonly #callers = new CallersConnections()
  readonly guard = new NamespaceGuard()
  readonly #file: FileIdentity | undefined
  #incarnation: number | undefined
  #syncsItself = false
  /** Another process, with a newer SQLite, may turn the log on; with this one a checkpoint could corrupt the file. */
  #refusesWal = false
  #touchedAt = Number.POSITIVE_INFINITY
  #checkpointsAfter = CHECKPOINT_AFTER
  /** Writers of other processes met so far. */
  busyCount = 0
  #waiting = 0

  constructor(options: ConnectionOptions) {
    this.#options = options
    this.path = options.path
    this.#driver = options.driver ?? nodeSqlite
    try {
      const made = options.path === ':memory:' ? undefined : createPrivateFile(options.path)
      this.#db = this.#driver.open(options.path)
      this.realPath = options.path === ':memory:' ? options.path : realpathSync(options.path)
      this.#wal = new WalSync({
        path: `${this.realPath}-wal`,
        folders: foldersOf(this.realPath, made),
        frames: () => this.#retry(() => this.#frames()),
        locked: body => this.#writes.add(body),
      })
      this.#file = options.path === ':memory:' ? undefined : new FileIdentity(options.path)
    } catch (error) {
      throw mapError(error, options.path)
    }
  }

  async prepareForUse(): Promise<void> {
    const { version } = await this.read(() =>
      requiredRow<{ version: string }>(this.prepare('select sqlite_version() as version')),
    )
    const isTrusted = isAtLeast(version, OLDEST_SQLITE)
    if (!isTrusted && this.#driver.olderSqlite !== 'rollback-journal') throw olderError(this.#driver, version)
    const wanted = isTrusted ? 'wal' : 'truncate'
    const mode = await this.read(() => rowOf<{ journal_mode: string }>(this.prepare(`pragma journal_mode = ${wanted}`)))
    const wal = mode?.journal_mode === 'wal'
    this.#refusesWal = !isTrusted
    if (wal && !isTrusted) throw walError(this.path, this.#driver)
    // Where there is no WAL (a memory database, some file systems) SQLite itself syncs.
    this.#db.exec(`pragma synchronous = ${wal || this.#options.durability === 'process' ? 'normal' : 'full'}`)
    this.#db.exec('pragma foreign_keys = on')
    this.#syncsItself = wal && this.#options.durability === 'full'
  }

  /** A statement, prepared once. */
  prepare(sql: string): SqliteStatement {
    let statement = this.#statements.get(sql)
    if (statement === undefined) {
      try {
        statement = this.#db.prepare(sql)
      } catch (error) {
        // A busy database is left to read, which knows it by SQLite's own error.
        throw isBusy(error) ? error : mapError(error, this.path)
      }
      this.#statements.set(sql, statement)
    }
    return statement
  }

  exec(sql: string): void {
    this.#db.exec(sql)
  }

  /** From now on there is a clock; before, the file may have no table for it. */
  async startClock(): Promise<void> {
    await this.write(true, () => startClock(this.#prepare))
    this.#touchedAt = performance.now()
  }

  /** The file's clock, in milliseconds: the same for all processes, whatever one of them believes. */
  now(): number {
    return nowBy(this.#prepare)
  }

  /** The time before which something stored is more than `ms` ago. */
  ago(ms: number): number {
    return agoBy(this.#prepare, ms)
  }

  /** When something stored happened, by the clock as it is now. */
  asOfNow(stored: number): number {
    return asOfNow(this.#prepare, stored)
  }

  /** How far this process's own clock is from the file's. */
  async clock(): Promise<ClockReading> {
    if (await this.read(() => needsJudgement(this.#prepare))) {
      await this.write(true, () => judgeClock(this.#prepare))
    }
    return await this.read(() => readClock(this.#prepare))
  }

  /**
   * Runs `body` in a write transaction, with the bodies of others that come meanwhile. `durable`: on the disk before this
   * resolves; otherwise a power failure may undo it, as it may undo the claims that nobody depends on. `expected`: records
   * of another incarnation are refused, and nothing is changed.
   */
  async write<T>(durable: boolean, body: (tx: Transaction) => T, expected?: Expected): Promise<T> {
    const syncs = durable && this.#syncsItself
    if (syncs && this.#wal.isSuspect) await this.#regainTrust()
    const result = await this.#writes.add(this.#checked(body, expected))
    if (syncs) await this.#sync()
    if (durable) this.#requireStored(this.#file?.logChange())
    return result
  }

  /**
   * A durable write, unless a transaction of this process holds the lock: one that was given to publish, and whose caller
   * may be waiting for this very call. That would wait for itself until the busy timeout.
   */
  async writeUnlessHeld<T>(body: (tx: Transaction) => T, expected?: Expected): Promise<T> {
    const started = performance.now()
    while (this.#isHeldHere()) {
      if (performance.now() - started > OWN_PATIENCE_MS) throw TransactionError.holdsTheLock(this.path)
      await delay(OWN_PATIENCE_MS / 100)
    }
    return await this.write(true, body, expected)
  }

  /** Name of the library. */
  get driverName(): string {
    return this.#driver.name
  }

  /** A caller's own connection, with a transaction open that has written. */
  noteTransaction(tx: CallersConnection): void {
    this.#callers.note(tx)
  }

  /** The namespace is open: from now on every transaction makes sure that it is still this one. */
  async bind(): Promise<void> {
    this.#incarnation = await this.read(() => findIncarnation(this.#prepare))
    if (this.#incarnation === undefined) throw goneError(this.path, undefined)
  }

  /** Checks a caller's connection, inside the transaction that is open on it. */
  requireNamespaceOf(prepare: (sql: string) => SqliteStatement): void {
    this.#requireThere(this.#file?.change() ?? this.#file?.logChange())
    this.#requireIncarnation(prepare)
  }

  /** Runs `body` as one reader: the file is locked and unlocked once, not for each statement. */
  readSync<T>(body: (tx: Transaction) => T): T {
    if (this.#db.isTransaction) return body(this)
    this.guard.assertThere()
    this.#run('begin')
    try {
      this.#requireIncarnation(this.#prepare)
      return body(this)
    } finally {
      if (this.#db.isTransaction) this.#run('commit')
    }
  }

  /**
   * Runs `body` as one reader, again while the database is busy. In an open namespace it makes sure that this still is the
   * same one.
   */
  async read<T>(body: (tx: Transaction) => T, expected?: Expected): Promise<T> {
    const checked = this.#checked(body, expected)
    if (this.#incarnation === undefined) return await this.#retry(checked)
    return await this.#retry(() => {
      this.#requireThere(this.#file?.change())
      return this.readSync(checked)
    })
  }

  async #retry<T>(step: () => T): Promise<T> {
    const started = performance.now()
    for (let attempt = 1; ; attempt++) {
      try {
        return step()
      } catch (error) {
        const waited = performance.now() - started
        if (!isBusy(error) || waited > this.#options.busyTimeoutMs) throw mapError(error, this.path, waited)
        this.busyCount++
        this.#waiting++
        await delay(spread(backoffMs(BUSY, attempt))).finally(() => this.#waiting--)
      }
    }
  }

  get waiting(): number {
    return this.#waiting
  }

  async close(): Promise<void> {
    await this.#writes.drain()
    // Closing may move the log into the database file: what a failed sync has left in doubt is made sure of before.
    if (this.#wal.isSuspect && this.#db.isOpen) await this.#regainTrust().catch(() => undefined)
    await this.#wal.close()
    if (this.#db.isOpen) this.#db.close()
  }

  /** The transaction has committed, so where this fails nobody knows whether it is stored. */
  async #sync(): Promise<void> {
    try {
      await this.#flush()
    } catch (error) {
      this.#requireStored(this.#file?.change() ?? this.#file?.logChange())
      const mapped = mapError(error, this.path)
      // Found out when it is opened, by a transaction that had nothing to write.
      if (!this.#wal.isInUse && mapped instanceof DatabaseReadOnlyError) throw mapped
      throw OutcomeUnknownError.afterFailedSync(this.path, error)
    }
  }

  /** After a failed sync, before anything more is written that has to be promised. */
  async #regainTrust(): Promise<void> {
    try {
      await this.#flush()
    } catch (error) {
      this.#requireThere(this.#file?.change() ?? this.#file?.logChange())
      const mapped = mapError(error, this.path)
      if (error instanceof TidemarkError || mapped instanceof DatabaseFullError) throw mapped
      throw new SyncError(
        `The log of ${this.path} can't be synced to the disk, so nothing was stored by this call. Check the disk`,
        error,
      )
    }
  }

  /** A checkpoint relies on the log, so there is none while that is suspect. */
  async #flush(): Promise<void> {
    try {
      await this.#wal.flush()
    } catch (error) {
      this.#checkpointAfter(0)
      throw error
    }
    this.#checkpointAfter(CHECKPOINT_AFTER)
  }

  #checkpointAfter(pages: number): void {
    if (pages === this.#checkpointsAfter || !this.#db.isOpen) return
    this.#db.exec(`pragma wal_autocheckpoint = ${pages}`)
    this.#checkpointsAfter = pages
  }

  #frames(): number {
    return requiredRow<{ log: number }>(this.prepare('pragma wal_checkpoint(noop)')).log
  }

  #transaction<T>(body: () => T): T {
    this.guard.assertThere()
    this.#run('begin immediate')
    try {
      if (this.#refusesWal) this.#requireNoWal()
      this.#requireIncarnation(this.#prepare)
      if (performance.now() - this.#touchedAt > TOUCH_MS) this.#touchClock()
      const result = body()
      // Here, and not at the beginning: a body may take a while. Where the file is gone nothing is stored.
      this.#requireThere(this.#file?.change())
      this.#run('commit')
      return result
    } catch (error) {
      if (this.#db.isTransaction) this.#run('rollback')
      throw error
    }
  }

  /** Some caller's transaction is open, and the lock is not to be had. */
  #isHeldHere(): boolean {
    if (!this.#callers.hasTransaction) return false
    try {
      this.#run('begin immediate')
      this.#run('rollback')
      return false
    } catch (error) {
      if (isBusy(error)) return true
      throw mapError(error, this.path)
    }
  }

  #requireNoWal(): void {
    const mode = rowOf<{ journal_mode: string }>(this.prepare('pragma journal_mode'))
    if (mode?.journal_mode === 'wal') throw walError(this.path, this.#driver)
  }

  #touchClock(): void {
    touchClock(this.#prepare)
    this.#touchedAt = performance.now()
  }

  /** `expected`: the records that the body relies on; of another incarnation they are refused before it runs. */
  #checked<T>(body: (tx: Transaction) => T, expected: Expected | undefined): () => T {
    if (expected === undefined) return () => body(this)
    return () => {
      requireRecords(this.#prepare, expected)
      return body(this)
    }
  }

  #requireIncarnation(prepare: (sql: string) => SqliteStatement): void {
    if (this.#incarnation === undefined) return
    const found = findIncarnation(prepare)
    if (found !== this.#incarnation) throw this.guard.gone(goneError(this.path, found))
  }

  /** The path leads to the file that was opened; to be asked after closing too. */
  isSameFile(): boolean {
    return this.#file?.isSame() ?? true
  }

  /** `change`: what became of the file, if anything. To be called while nothing of the call is stored. */
  #requireThere(change: FileChange | undefined): void {
    this.guard.assertThere()
    if (change === undefined) return
    if (!change.isForGood) throw new DatabaseMovedError(this.path)
    throw this.guard.gone(new NamespaceGoneError(this.path, change.what))
  }

  /** The same after a commit: where the file was only moved away, it may have what was committed. */
  #requireStored(change: FileChange | undefined): void {
    if (change?.isForGood === false) throw OutcomeUnknownError.afterMove(this.path)
    this.#requireThere(change)
  }

  #run(sql: string): void {
    this.prepare(sql).run()
  }
}
