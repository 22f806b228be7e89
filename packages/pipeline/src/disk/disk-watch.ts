import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Logger } from 'tidemark'
import type { Allowance } from './allowance.ts'
import { type DiskPart, type PartSize, sumOf } from './disk-parts.ts'
import type { DiskStatus } from './disk-status.ts'
import { Growth } from './growth.ts'
import { type DiskLimits, type DiskMeasure, isEnough, type Room, reasonOf, roomIn } from './room.ts'

export type DiskWatchOptions = {
  readonly limits: DiskLimits
  readonly parts: readonly DiskPart[]
  /** Shared by the queues of the sources. */
  readonly allowance: Allowance
  /** Size of the next item that a queue holds back because of the allowance; 0: none. */
  heldBytes(): number
  /** Bytes of ticks that left the sources and are not in a batch file yet. */
  queuedBytes(): number
  /** Looks at what the indexes do not have yet; returns the bytes that they will use for it, given the sizes. */
  unindexedBytes(): Promise<(parts: readonly PartSize[]) => number>
  /** Called after every measurement with what the sources wait for, or null. */
  holdSources(reason: string | null): void
  /** Whether old data is removed before the budget is used up: then there is no time left to tell. */
  readonly makesRoom: boolean
  readonly logger: Logger
  /** Milliseconds between two measurements (default 1000). */
  readonly lookMs?: number | undefined
}

/**
 * Maximum disk bytes per byte of a tick: once in its batch file, once in an index, both uncompressed, and temporarily
 * once in the index's log.
 */
const DISK_BYTES_PER_BYTE = 3
const LOOK_MS = 1_000
/** Near its budget a source pauses and resumes every few seconds: that is one state, and reported once. */
const TELL_AGAIN_MS = 60_000
/** A server that does not answer must delay neither a start nor the other parts. */
const PATIENCE_MS = 3_000

/**
 * Measures the size of everything once a second, concurrently. In between, the queues accept no more than fits, so that
 * the budget is not exceeded, however fast the source is.
 */
export class DiskWatch {
  readonly #options: DiskWatchOptions
  readonly #growth = new Growth()
  #measured: DiskMeasure = { bytes: 0, pendingBytes: 0, freeBytes: null }
  #parts: readonly PartSize[] = []
  #unindexed: (parts: readonly PartSize[]) => number = () => 0
  #room: Room | undefined
  #pausedSince: Date | null = null
  /** Time of the last pause, on the monotonic clock; undefined: never. */
  #lastPausedAt: number | undefined
  #looking: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined
  readonly #listeners = new Set<(reason: string | null) => void>()

  constructor(options: DiskWatchOptions) {
    this.#options = options
  }

  /** Measures now and then periodically. */
  async start(): Promise<void> {
    await this.look()
    this.#timer = setInterval(() => void this.look(), this.#options.lookMs ?? LOOK_MS)
    this.#timer.unref()
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#looking
    await Promise.all(this.#options.parts.map(part => part.close?.()))
  }

  /** The share of the budget that is used, with what is on its way to the disk and the reserve; 0 without a budget. */
  get fullness(): number {
    const { maxBytes } = this.#options.limits
    return maxBytes === null || this.#room === undefined ? 0 : 1 - this.#room.bytes / maxBytes
  }

  /** Why the sources are paused, or null. */
  get reason(): string | null {
    return this.#room === undefined || this.#pausedSince === null ? null : reasonOf(this.#room, this.#options.limits)
  }

  status(): DiskStatus {
    const { maxBytes, minFreeBytes } = this.#options.limits
    const { bytes, freeBytes } = this.#measured
    const { perSecond } = this.#growth
    const room = this.#room?.bytes ?? Number.POSITIVE_INFINITY
    const isPaused = this.#pausedSince !== null
    const isBounded = Number.isFinite(room) && perSecond > 0 && !this.#options.makesRoom
    return {
      healthy: !isPaused,
      bytes,
      maxBytes,
      freeBytes,
      minFreeBytes,
      bytesPerSecond: Math.round(perSecond),
      secondsLeft: isPaused ? 0 : isBounded ? Math.max(0, Math.round(room / perSecond)) : null,
      paused: isPaused,
      reason: this.reason,
      pausedSince: this.#pausedSince,
      parts: this.#parts.map(({ files: _, ...part }) => part),
    }
  }

  /** Calls a listener when sources pause (with the reason) and resume (with null). The returned function removes it. */
  listen(listener: (reason: string | null) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Concurrent calls share one measurement. */
  async look(): Promise<void> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined
    })
    await this.#looking
  }

  async #look(): Promise<void> {
    const { parts, limits, queuedBytes, unindexedBytes, allowance } = this.#options
    try {
      // In the order in which the data flows, the disk last: what moves on in between is counted twice rather than not
      // at all, as is what enters during the measurement.
      const entered = allowance.countTaken()
      const queued = queuedBytes() * DISK_BYTES_PER_BYTE
      // Topics that do not answer: as at the last look.
      this.#unindexed = await within(unindexedBytes(), PATIENCE_MS).catch(() => this.#unindexed)
      this.#parts = await Promise.all(parts.map((part, index) => this.#measure(part, this.#parts[index])))
      const { bytes, reusableBytes } = sumOf(this.#parts)
      const freeBytes = await freeOn(parts.flatMap(({ folder }) => (folder === undefined ? [] : [folder])))
      const pendingBytes = queued + entered() * DISK_BYTES_PER_BYTE + this.#unindexed(this.#parts)
      this.#measured = { bytes: bytes - reusableBytes, pendingBytes, freeBytes }
      this.#growth.add(this.#measured.bytes)
      this.#room = roomIn(this.#measured, limits)
      this.#decide(this.#room, allowance)
    } catch (error) {
      this.#options.logger.warn({ err: error }, 'the size of the data could not be measured')
    }
  }

  #decide(room: Room, allowance: Allowance): void {
    const { limits, heldBytes, holdSources } = this.#options
    const isPaused = this.#pausedSince !== null
    const allowed = room.bytes / DISK_BYTES_PER_BYTE
    const mayGoOn = isEnough(room, limits, isPaused) && allowed >= heldBytes()
    if (mayGoOn === isPaused) this.#turn(room, mayGoOn)
    allowance.set(mayGoOn ? allowed : 0)
    holdSources(this.reason)
  }

  #turn(room: Room, mayGoOn: boolean): void {
    const { logger, limits } = this.#options
    this.#pausedSince = mayGoOn ? null : new Date()
    const { bytes, freeBytes } = room.measured
    const fields = { bytes, maxBytes: limits.maxBytes, freeBytes }
    const now = performance.now()
    const isNews = this.#lastPausedAt === undefined || now - this.#lastPausedAt > TELL_AGAIN_MS
    this.#lastPausedAt = now
    if (mayGoOn) logger.info(fields, 'disk space is available again: the source resumes')
    else logger[isNews ? 'warn' : 'debug'](fields, `the source waits for ${reasonOf(room, limits)}`)
    for (const listener of this.#listeners) listener(this.reason)
  }

  /** A part that does not answer keeps its last size. */
  async #measure(part: DiskPart, before: PartSize | undefined): Promise<PartSize> {
    const { name, kind } = part
    const last = before ?? { name, kind, bytes: 0, reusableBytes: 0 }
    try {
      return { ...last, ...(await within(part.measure(), PATIENCE_MS)) }
    } catch (error) {
      this.#options.logger.debug({ part: name, err: error }, 'the size of a part could not be measured')
      return last
    }
  }
}

async function within<T>(work: Promise<T>, ms: number): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`No answer within ${ms} ms`)), ms)
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
    // A late answer is ignored.
    work.catch(() => undefined)
  }
}

/** Free space of the fullest disk. A folder that does not exist yet will be on the disk of its existing parent. */
async function freeOn(folders: readonly string[]): Promise<number | null> {
  const free = await Promise.all(folders.map(freeAt))
  return free.reduce<number | null>((least, each) => (each === null ? least : Math.min(least ?? each, each)), null)
}

async function freeAt(folder: string): Promise<number | null> {
  try {
    const { bavail, bsize } = await statfs(folder)
    return bavail * bsize
  } catch {
    // Missing, or an unmounted file system, which is reported elsewhere.
    const parent = dirname(folder)
    return parent === folder ? null : await freeAt(parent)
  }
}
