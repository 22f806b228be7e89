import { EventEmitter } from 'node:events'
import type { IndexDatabase } from '../databases/index-database.ts'
import type { BatchRow, LedgerCounts, LedgerPage, LedgerStore, TickRange } from '../databases/ledger-store.ts'
import type { Transaction } from '../databases/transaction.ts'
import { storableText, wholeNumber } from '../options.ts'
import { type Batch, type BatchClaim, type BatchClaimResult, checkBatch, checkRange } from './batch-claim.ts'
import { LedgerConflictError, StaleClaimError } from './errors.ts'
import { type Gap, gapBefore, missingBetween } from './gap-detection.ts'
import { LedgerChange, type Note, type Settled } from './ledger-change.ts'
import { LedgerMeter, type LedgerMetrics } from './ledger-metrics.ts'
import { type LedgerOptions, type LedgerSettings, ledgerSettings } from './ledger-options.ts'

/** Events of a ledger. */
export type LedgerEvents = {
  /** A gap became permanent. Emitted once, by the instance that noticed it first. */
  permanentGap: [Gap]
  /** A claim was taken over from another instance. */
  takenOver: [BatchClaim & { readonly from: string | null }]
  /** Batches that waited for a gap can be claimed. */
  released: [{ readonly batches: number; readonly range: TickRange }]
}

type InTransaction = { readonly tx?: Transaction | undefined }

const LONGEST_NAME = 200
const LONGEST_ERROR = 4_000

/**
 * Records which batches of a run an indexer has processed, which instance processes which, and which ticks are
 * missing. All instances of the indexer share one ledger. `ledger-change.ts` shows the states of a batch.
 */
export class BatchLedger {
  /** Events of this instance. */
  readonly events = new EventEmitter<LedgerEvents>()
  readonly #store: LedgerStore
  readonly #settings: LedgerSettings
  readonly #meter = new LedgerMeter()

  private constructor(store: LedgerStore, settings: LedgerSettings) {
    this.#store = store
    this.#settings = settings
  }

  static async open(index: IndexDatabase, options: LedgerOptions): Promise<BatchLedger> {
    const { ledger } = index
    const settings = ledgerSettings(options)
    const { indexer, samplingInterval, firstTick } = settings
    const stored = await ledger.open(indexer, { samplingInterval, firstTick })
    // If omitted, it is as when the ledger was created.
    const isSameStart = options.firstTick === undefined || stored.firstTick === firstTick
    if (stored.samplingInterval !== samplingInterval || !isSameStart) {
      throw new LedgerConflictError(
        `The ledger of '${indexer}' was created with samplingInterval ${stored.samplingInterval} and firstTick ` +
          `${stored.firstTick}, not ${samplingInterval} and ${firstTick}. Use the same values for one run and indexer`,
      )
    }
    return new BatchLedger(ledger, { ...settings, firstTick: stored.firstTick })
  }

  /** Claims a batch if it is free and no ticks before it are missing. */
  async tryClaim(batch: Batch, claimer: string): Promise<BatchClaimResult> {
    checkBatch(batch)
    storableText('claimer', claimer, LONGEST_NAME)
    this.#meter.add('claimAttempts')
    return await this.#meter.time('claim', () => this.#change(change => change.tryClaim(batch, claimer)))
  }

  /** Claims the lowest known batch that can be claimed: one whose claim has expired, otherwise one that is ready. */
  async claimNext(claimer: string): Promise<BatchClaim | null> {
    storableText('claimer', claimer, LONGEST_NAME)
    const claimNext = async (change: LedgerChange): Promise<BatchClaim | null> => {
      const claim = await change.claimNext(claimer)
      // A claim that finds nothing does not count as an attempt. It is counted before the claim, so that the rate never
      // exceeds 1.
      if (claim !== null) this.#meter.add('claimAttempts')
      return claim
    }
    return await this.#meter.time('claim', () => this.#change(claimNext))
  }

  /** Records a batch as processed. With `tx`, if and only if that transaction commits. */
  async complete(claim: BatchClaim, { tx }: InTransaction = {}): Promise<void> {
    await this.#meter.time('complete', () => this.#settle(claim, { status: 'completed', error: null }, tx))
  }

  /** Records a batch as failed. It is not claimed again until `retry` is called. */
  async fail(claim: BatchClaim, error: unknown): Promise<void> {
    const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
    // PostgreSQL can't store NUL, and an error may quote a file.
    const storable = text.replaceAll('\0', '').slice(0, LONGEST_ERROR).toWellFormed()
    await this.#settle(claim, { status: 'failed', error: storable })
  }

  /** Releases a claim at once, as an indexer does when it stops. */
  async release(claim: BatchClaim): Promise<void> {
    await this.#settle(claim, { status: 'ready', error: null })
  }

  /** Renews a claim. */
  async extend(claim: BatchClaim): Promise<void> {
    await this.#change(change => change.extend(claim))
  }

  /** Makes a failed batch available again. Returns false if it is not a failed one. */
  async retry(key: string): Promise<boolean> {
    return await this.#change(change => change.retry(key))
  }

  /**
   * Records what a source without claims has processed, so that gaps are detected. Returns false if all of it was
   * recorded before.
   */
  async recordProcessed({ tickStart, tickEnd }: TickRange, { tx }: InTransaction = {}): Promise<boolean> {
    checkRange({ tickStart, tickEnd })
    return await this.#change(change => change.recordProcessed({ tickStart, tickEnd }), tx)
  }

  /**
   * Records that the batches of these ticks were removed from the storage. They are not a gap, and nothing waits for
   * them.
   */
  async recordRemoved({ tickStart, tickEnd }: TickRange): Promise<void> {
    checkRange({ tickStart, tickEnd })
    await this.#change(change => change.recordRemoved({ tickStart, tickEnd }))
  }

  /** Releases a claim on a batch that was removed from the storage. */
  async forget(claim: BatchClaim): Promise<void> {
    await this.#change(change => change.forget(claim))
  }

  /** Gap that a batch starting at this tick would wait for, or null. */
  async gapBefore(tickStart: number): Promise<TickRange | null> {
    const { samplingInterval, firstTick, indexer } = this.#settings
    const previous = await this.#store.arrivedBefore(indexer, tickStart)
    if (previous === null) {
      return firstTick !== null && tickStart > firstTick ? missingBetween(null, tickStart, this.#settings) : null
    }
    if (previous.tickEnd + samplingInterval < tickStart) {
      return missingBetween(previous.tickEnd, tickStart, this.#settings)
    }
    return previous.isHeld ? missingBetween(previous.previousEnd, previous.tickStart, this.#settings) : null
  }

  /** Reports gaps that have become permanent, each to one instance, once. Any instance may call it at any time. */
  async reportPermanentGaps(): Promise<Gap[]> {
    return await this.#change(change => change.reportPermanentGaps())
  }

  /** Lists missing ticks, the lowest first. A page begins with the first gap before something after tick `after`. */
  async gaps(page: Partial<LedgerPage> = {}): Promise<Gap[]> {
    const rows = await this.#store.gaps(this.#settings.indexer, checkedPage(page))
    return rows.map(row => gapBefore(row, this.#settings))
  }

  /** Lists processed ticks as merged ranges, the lowest first. A page begins with the first range after tick `after`. */
  async processedRanges(page: Partial<LedgerPage> = {}): Promise<TickRange[]> {
    return await this.#store.processed(this.#settings.indexer, checkedPage(page))
  }

  /** Lists failed batches by key. A page begins after the key `after`. */
  async failed({ after = '', limit = 1_000 }: { after?: string; limit?: number } = {}): Promise<BatchRow[]> {
    return await this.#store.failed(this.#settings.indexer, { after, limit: wholeNumber('limit', limit, { min: 1 }) })
  }

  /** Returns one batch, or null. */
  async batch(key: string): Promise<BatchRow | null> {
    return await this.#store.batch(this.#settings.indexer, key)
  }

  /** Number of batches by status, over all instances. Reads one row. */
  async counts(): Promise<LedgerCounts> {
    return await this.#store.counts(this.#settings.indexer)
  }

  /** Figures of this instance, from memory. */
  metrics(): LedgerMetrics {
    return this.#meter.snapshot()
  }

  async #settle(claim: BatchClaim, settled: Settled, tx?: Transaction): Promise<void> {
    await this.#change(change => change.settle(claim, settled), tx)
  }

  async #change<T>(work: (change: LedgerChange) => Promise<T>, tx?: Transaction): Promise<T> {
    try {
      const { result, notes } = await this.#store.change(
        this.#settings.indexer,
        async rows => {
          const change = new LedgerChange(rows, this.#settings)
          return { result: await work(change), notes: change.notes }
        },
        tx,
      )
      for (const note of notes) this.#tell(note)
      return result
    } catch (error) {
      this.#meter.add(error instanceof StaleClaimError ? 'stale' : 'errors')
      throw error
    }
  }

  #tell(note: Note): void {
    this.#meter.note(note)
    // After the caller has its result: a listener that throws must not make a held claim look lost.
    if (note.kind === 'permanentGap') queueMicrotask(() => this.events.emit('permanentGap', note.gap))
    if (note.kind === 'released') {
      const { batches, range } = note
      queueMicrotask(() => this.events.emit('released', { batches, range }))
    }
    if (note.kind === 'claimed' && note.claim.isTakenOver) {
      const { claim, from } = note
      queueMicrotask(() => this.events.emit('takenOver', { ...claim, from }))
    }
  }
}

function checkedPage({ after = -1, limit = 1_000 }: Partial<LedgerPage>): LedgerPage {
  return { after: wholeNumber('after', after, { min: -1 }), limit: wholeNumber('limit', limit, { min: 1 }) }
}
