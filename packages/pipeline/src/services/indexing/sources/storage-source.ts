import type { Duration } from 'tidemark'
import { ConfigError } from 'tidemark'
import { retryDelayMs } from '../../../backoff.ts'
import type { BatchInfo } from '../../../contracts/notifications.ts'
import type { Transaction } from '../../../databases/transaction.ts'
import { parseDuration } from '../../../duration.ts'
import type { BatchClaim } from '../../../ledger/batch-claim.ts'
import type { BatchLedger } from '../../../ledger/batch-ledger.ts'
import { StaleClaimError } from '../../../ledger/errors.ts'
import { refuseUnknown, wholeNumber } from '../../../options.ts'
import type { BatchQuery, BatchRef } from '../../../storage/storage.ts'
import { pauseFor } from '../../until-aborted.ts'
import type { BatchSource, OpenBatchSource, SourceBatch, SourceRun } from './batch-source.ts'

/** Options of `storageSource`. */
export type StorageSourceOptions = {
  /** Name of the instance in the ledger (default: process and number). */
  readonly claimer?: string
  /** Time between two scans of the storage for new files (default '1s'). */
  readonly scanInterval?: Duration
  /** Attempts before a batch is marked failed in the ledger (default 5). */
  readonly maxAttempts?: number
  /** Delay before the first retry, doubled each time up to a minute (default '1s'). */
  readonly retryDelay?: Duration
}

type Settings = {
  readonly claimer: string
  readonly scanMs: number
  readonly maxAttempts: number
  readonly retryMs: number
}

type Listing = Pick<BatchQuery, 'fromTick' | 'toTick' | 'after'>

const LONGEST_RETRY_MS = 60_000
const LONGEST_EXTEND_MS = 60_000

let unnamed = 0

/**
 * Source that scans the storage, for archives and for runs without announcements.
 *
 * @example
 * const source = storageSource({ scanInterval: '10s' })
 */
export function storageSource(options: StorageSourceOptions = {}): BatchSource {
  refuseUnknown(options, ['claimer', 'scanInterval', 'maxAttempts', 'retryDelay'])
  const settings = {
    claimer: options.claimer ?? `${process.pid}-${++unnamed}`,
    scanMs: parseDuration('scanInterval', options.scanInterval ?? '1s', { min: 1 }),
    maxAttempts: wholeNumber('maxAttempts', options.maxAttempts ?? 5, { min: 1 }),
    retryMs: parseDuration('retryDelay', options.retryDelay ?? '1s'),
  }
  return {
    kind: 'storage',
    maxAttempts: settings.maxAttempts,
    async open(run) {
      if (run.ledger === null)
        throw new ConfigError(
          'source',
          'storage',
          "a source that works without metadata, or add the component 'metadata'",
        )
      return new StorageBatches(run, run.ledger, settings)
    },
  }
}

class StorageBatches implements OpenBatchSource {
  readonly extendEveryMs: number
  readonly #run: SourceRun
  readonly #ledger: BatchLedger
  readonly #settings: Settings
  /** Listed and not yet offered to the ledger, lowest tick last: one page at a time. */
  #found: BatchRef[] = []
  /** The ranges of ticks still to be listed in this scan, the next one last. */
  #toList: Listing[] = []
  /** Offered once to the ledger, which from then on hands them out when they are ready or their claim has expired. */
  readonly #offered = new Map<string, BatchRef>()
  readonly #inHand = new Set<StorageBatch>()
  #scanAt = 0
  /** Removed ranges that the ledger knows, by their first tick. */
  readonly #removedTo = new Map<number, number>()

  constructor(run: SourceRun, ledger: BatchLedger, settings: Settings) {
    this.#run = run
    this.#ledger = ledger
    this.#settings = settings
    const { claimTimeoutMs } = run
    this.extendEveryMs = claimTimeoutMs === 0 ? LONGEST_EXTEND_MS : Math.min(LONGEST_EXTEND_MS, claimTimeoutMs / 3)
  }

  async next(timeoutMs: number, signal: AbortSignal): Promise<SourceBatch | null> {
    const until = performance.now() + timeoutMs
    while (!signal.aborted) {
      const batch = this.#dueAgain() ?? (await this.#claim())
      if (batch !== null) return batch
      const now = performance.now()
      if (now >= until) return null
      const due = [...this.#inHand].map(({ againAt }) => againAt)
      await pauseFor(Math.max(1, Math.min(until, this.#scanAt, ...due) - now), signal)
    }
    return null
  }

  async close(): Promise<void> {
    for (const { claim } of this.#inHand) {
      // A claim that cannot be released is taken over when it expires.
      await this.#ledger.release(claim).catch(error => this.#run.context.note(`release ${claim.key}`, error))
    }
    this.#inHand.clear()
  }

  #dueAgain(): SourceBatch | null {
    const now = performance.now()
    for (const batch of this.#inHand) {
      if (batch.againAt > now) continue
      batch.beginAgain()
      return batch
    }
    return null
  }

  async #claim(): Promise<SourceBatch | null> {
    const known = await this.#ledger.claimNext(this.#settings.claimer)
    if (known !== null) return this.#take(known)
    while (this.#found.length > 0 || (await this.#list())) {
      const ref = this.#found.pop()
      if (ref === undefined) continue
      const result = await this.#ledger.tryClaim(ref, this.#settings.claimer)
      this.#offered.set(ref.key, ref)
      if (result.outcome === 'claimed') return this.#take(result.claim)
    }
    return null
  }

  /** The next page; false if everything was seen and it is not yet time to scan again. */
  async #list(): Promise<boolean> {
    if (this.#toList.length === 0) {
      if (performance.now() < this.#scanAt) return false
      this.#toList = await this.#unseen()
    }
    const listing = this.#toList.at(-1)
    if (listing === undefined) return false
    const { items, next } = await this.#run.storage.listBatches({ prefix: `${this.#run.runId}/`, ...listing })
    this.#toList.pop()
    this.#found = items.filter(({ key }) => !this.#offered.has(key)).reverse()
    if (next !== null) this.#toList.push({ ...listing, after: next })
    if (this.#toList.length === 0) this.#scanAt = performance.now() + this.#settings.scanMs
    return true
  }

  /**
   * Everything but the contiguous range processed from the first tick on. More may appear below the first, because a
   * batch that took longer to store appears after its successor.
   */
  async #unseen(): Promise<Listing[]> {
    await this.#passOverRemoved()
    const [first] = await this.#ledger.processedRanges({ limit: 1 })
    if (first === undefined || (await this.#ledger.gapBefore(first.tickStart)) !== null) return [{ fromTick: 0 }]
    const { tickStart, tickEnd } = first
    for (const batch of this.#offered.values()) {
      if (batch.tickStart >= tickStart && batch.tickStart <= tickEnd) this.#offered.delete(batch.key)
    }
    const above = { fromTick: tickEnd + 1 }
    return tickStart === 0 ? [above] : [above, { fromTick: 0, toTick: tickStart - 1 }]
  }

  /** Removed batches are never listed, and would be waited for. */
  async #passOverRemoved(): Promise<void> {
    for (const range of await this.#run.storage.removedRanges(this.#run.runId)) {
      if (this.#removedTo.get(range.tickStart) === range.tickEnd) continue
      await this.#ledger.recordRemoved(range)
      this.#removedTo.set(range.tickStart, range.tickEnd)
    }
  }

  #take(claim: BatchClaim): SourceBatch {
    const batch = new StorageBatch(claim, this.#run.runId, this.#ledger, this.#settings, () => {
      this.#inHand.delete(batch)
    })
    this.#inHand.add(batch)
    return batch
  }
}

class StorageBatch implements SourceBatch {
  readonly claim: BatchClaim
  readonly info: BatchInfo
  /** Such a batch can't be claimed. */
  readonly isIndexed = false
  /** When to retry, on the monotonic clock. The claim is kept until then. */
  againAt = Number.POSITIVE_INFINITY
  attempt: number
  readonly #ledger: BatchLedger
  readonly #settings: Settings
  readonly #forget: () => void
  #tries = 1

  constructor(claim: BatchClaim, runId: string, ledger: BatchLedger, settings: Settings, forget: () => void) {
    const { key, tickStart, tickEnd, version } = claim
    this.claim = claim
    // Only the file knows how many ticks it has and when they were written.
    this.info = { runId, storageKey: key, tickStart, tickEnd, tickCount: 0, writtenAt: 0 }
    this.attempt = version
    this.#ledger = ledger
    this.#settings = settings
    this.#forget = forget
  }

  get key(): string {
    return this.claim.key
  }

  get tickStart(): number {
    return this.claim.tickStart
  }

  get tickEnd(): number {
    return this.claim.tickEnd
  }

  beginAgain(): void {
    this.attempt++
    this.#tries++
    this.againAt = Number.POSITIVE_INFINITY
  }

  async complete(tx?: Transaction): Promise<void> {
    await this.#ledger.complete(this.claim, { tx })
  }

  async ack(): Promise<void> {
    this.#forget()
  }

  async passOver(): Promise<void> {
    this.#forget()
    await this.#ledger.forget(this.claim)
    await this.#ledger.recordRemoved(this)
  }

  async reject(error: unknown): Promise<boolean> {
    if (error instanceof StaleClaimError) {
      this.#forget()
      return true
    }
    if (this.#tries >= this.#settings.maxAttempts) {
      await this.discard(error)
      return false
    }
    const waitMs = retryDelayMs(this.#tries - 1, {
      initialMs: this.#settings.retryMs,
      maxMs: LONGEST_RETRY_MS,
      factor: 2,
    })
    this.againAt = performance.now() + waitMs
    return true
  }

  async discard(error: unknown): Promise<void> {
    this.#forget()
    await this.#ledger.fail(this.claim, error)
  }

  async extend(): Promise<void> {
    await this.#ledger.extend(this.claim)
  }
}
