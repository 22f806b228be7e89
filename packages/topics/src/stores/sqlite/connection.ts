import { realpathSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { type Backoff, backoffMs, spread } from '../../backoff.ts'
import {
  ClosedError,
  DatabaseFullError,
  DatabaseMovedError,
  DatabaseReadOnlyError,
  NamespaceGoneError,
  OutcomeUnknownError,
  SyncError,
  TidemarkError,
  TransactionError,
} from '../../errors.ts'
import { withTimeout } from '../../with-timeout.ts'
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
import { IndexRoom } from './index-room.ts'
import { createPrivateFile, foldersOf } from './private-file.ts'
import { requiredRow, rowOf } from './rows.ts'
import { isBusy, mapError } from './sqlite-errors.ts'
import { isAtLeast, OLDEST_SQLITE, olderError, requireNoWal, walError } from './sqlite-version.ts'
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
 * One connection, used from one thread. A transaction runs from begin to commit without yielding, so the statements of
 * two callers never mix. If another process is writing, the call is retried later; the event loop is never blocked.
 */
export class Connection implements Transaction {
  readonly path: string
  /** The real path behind `path`: SQLite keeps the WAL beside the file itself, not beside a link to it. */
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
  readonly #room: IndexRoom
  #incarnation: number | undefined
  #syncsItself = false
  /** Another process with a newer SQLite may turn WAL on; with this version a checkpoint could corrupt the file. */
  #refusesWal = false
  #touchedAt = Number.POSITIVE_INFINITY
  #checkpointsAfter = CHECKPOINT_AFTER
  #closing: Promise<void> | undefined
  /** No transaction begins any more. */
  #isClosed = false
  /** How often a writer of another process was in the way. */
  busyCount = 0
  #waiting = 0

  constructor(options: ConnectionOptions) {
    this.#options = options
    this.path = options.path
    this.#driver = options.driver ?? nodeSqlite
    let db: SqliteDatabase | undefined
    try {
      const made = options.path === ':memory:' ? undefined : createPrivateFile(options.path)
      db = this.#db = this.#driver.open(options.path)
      this.realPath = options.path === ':memory:' ? options.path : realpathSync(options.path)
      this.#wal = new WalSync({
        path: `${this.realPath}-wal`,
        folders: foldersOf(this.realPath, made),
        frames: () => this.#retry(() => this.#frames()),
        locked: body => this.#writes.add(body),
      })
      this.#file = options.path === ':memory:' ? undefined : new FileIdentity(options.path)
      this.#room = new IndexRoom(this.realPath)
      this.#room.require()
    } catch (error) {
      db?.close()
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
    // Without WAL (a memory database, some file systems) SQLite itself syncs.
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
        // A busy error is left to read, which recognises it by SQLite's own code.
        throw isBusy(error) ? error : mapError(error, this.path)
      }
      this.#statements.set(sql, statement)
    }
    return statement
  }

  exec(sql: string): void {
    this.#db.exec(sql)
  }

  /** Starts using the file's clock; before this the file may have no table for it. */
  async startClock(): Promise<void> {
    await this.write(true, () => startClock(this.#prepare))
    this.#touchedAt = performance.now()
  }

  /** The file's clock, in milliseconds. It is the same for all processes, whatever their wall clocks say. */
  now(): number {
    return nowBy(this.#prepare)
  }

  /** The time before which something stored is more than `ms` ago. */
  ago(ms: number): number {
    return agoBy(this.#prepare, ms)
  }

  /** A stored time converted to the current clock. */
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
   * Runs `body` in a write transaction, together with other bodies that arrive meanwhile. `durable`: on disk before
   * this resolves; otherwise a power failure may undo it, which is fine for claims. `expected`: records of another
   * incarnation are refused, and nothing is changed.
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
   * A durable write, unless a transaction of this process holds the lock: one that was passed to publish, and whose
   * caller may be waiting for this very call. Waiting would be a deadlock until the busy timeout.
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

  /** Remembers a caller's connection whose open transaction has written. */
  noteTransaction(tx: CallersConnection): void {
    this.#callers.note(tx)
  }

  /** The namespace is open: from now on every transaction checks that it is still the same one. */
  async bind(): Promise<void> {
    this.#incarnation = await this.read(() => findIncarnation(this.#prepare))
    if (this.#incarnation === undefined) throw goneError(this.path, undefined)
  }

  /** Checks a caller's connection, inside the transaction that is open on it. */
  requireNamespaceOf(prepare: (sql: string) => SqliteStatement): void {
    this.#requireThere(this.#file?.change() ?? this.#file?.logChange())
    this.#requireIncarnation(prepare)
  }

  /** Runs `body` as one reader: the file is locked and unlocked once instead of for each statement. */
  readSync<T>(body: (tx: Transaction) => T): T {
    if (this.#isClosed) throw new ClosedError('This Tidemark')
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
   * Runs `body` as one reader, and retries while the database is busy. In an open namespace it checks that it is still
   * the same one.
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

  /**
   * Waits no longer than `withinMs`. Then what waits for a writer of another process is refused, whoever waits for the
   * disk is told that the outcome is unknown, and the file is closed when the disk answers.
   */
  async close(withinMs?: number): Promise<void> {
    this.#closing ??= this.#close()
    if (withinMs === undefined) return await this.#closing
    await withTimeout(this.#closing, withinMs)
    this.#isClosed = true
    this.#wal.giveUp(new ClosedError('This Tidemark'))
  }

  async #close(): Promise<void> {
    await this.#writes.drain()
    // Closing may copy the WAL into the database file, so a suspect WAL is verified first.
    if (this.#wal.isSuspect && this.#db.isOpen) await this.#regainTrust().catch(() => undefined)
    // A transaction that committed from here on would be synced by a handle that is being closed.
    this.#isClosed = true
    await this.#writes.drain()
    await this.#wal.close()
    if (this.#db.isOpen) this.#db.close()
  }

  /** The transaction has committed, so if this fails, it is unknown whether it is stored. */
  async #sync(): Promise<void> {
    try {
      await this.#flush()
    } catch (error) {
      this.#requireStored(this.#file?.change() ?? this.#file?.logChange())
      const mapped = mapError(error, this.path)
      // Found out at open, by a transaction that had nothing to write.
      if (!this.#wal.isInUse && mapped instanceof DatabaseReadOnlyError) throw mapped
      if (error instanceof ClosedError) throw OutcomeUnknownError.beforeSync(this.path)
      throw OutcomeUnknownError.afterFailedSync(this.path, error)
    }
  }

  /** After a failed sync, before anything else is written that must be durable. */
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

  /** A checkpoint relies on the WAL, so there is none while the WAL is suspect. */
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
    if (this.#isClosed) throw new ClosedError('This Tidemark')
    this.#room.require()
    this.#run('begin immediate')
    try {
      if (this.#refusesWal) requireNoWal(this.#prepare, this.path, this.#driver)
      this.#requireIncarnation(this.#prepare)
      if (performance.now() - this.#touchedAt > TOUCH_MS) this.#touchClock()
      const result = body()
      // Checked here and not at the beginning, because a body may take a while. If the file is gone nothing is stored.
      this.#requireThere(this.#file?.change())
      this.#run('commit')
      return result
    } catch (error) {
      if (this.#db.isTransaction) this.#run('rollback')
      throw error
    }
  }

  /** A caller's transaction is open, and the lock cannot be taken. */
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

  #touchClock(): void {
    touchClock(this.#prepare)
    this.#touchedAt = performance.now()
  }

  /** `expected`: the records that the body relies on; those of another incarnation are refused before it runs. */
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

  /** Whether the path still leads to the file that was opened. May be called after closing. */
  isSameFile(): boolean {
    return this.#file?.isSame() ?? true
  }

  /** `change`: what happened to the file, if anything. Call it while nothing of the call is stored. */
  #requireThere(change: FileChange | undefined): void {
    this.guard.assertThere()
    if (change === undefined) return
    if (!change.isForGood) throw new DatabaseMovedError(this.path)
    throw this.guard.gone(new NamespaceGoneError(this.path, change.what))
  }

  /** The same after a commit: if the file was only moved away, it may contain what was committed. */
  #requireStored(change: FileChange | undefined): void {
    if (change?.isForGood === false) throw OutcomeUnknownError.afterMove(this.path)
    this.#requireThere(change)
  }

  #run(sql: string): void {
    this.prepare(sql).run()
  }
}
