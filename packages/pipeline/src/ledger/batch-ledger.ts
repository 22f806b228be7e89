import { EventEmitter } from 'node:events'
import type { IndexDatabase } from '../databases/index-database.ts'
import type { BatchRow, LedgerCounts, LedgerPage, LedgerStore, TickRange } from '../databases/ledger-store.ts'
import type { Transaction } from '../databases/transaction.ts'
import { storableText, wholeNumber } from '../options.ts'
import { type Batch, type Claim, type ClaimResult, checkBatch, checkRange } from './batch.ts'
import { LedgerConflictError, StaleClaimError } from './errors.ts'
import { type Gap, gapBefore, missingBetween } from './gap-detection.ts'
import { LedgerChange, type Note, type Settled } from './ledger-change.ts'
import { LedgerMeter, type LedgerMetrics } from './ledger-metrics.ts'
import { type LedgerOptions, type LedgerSettings, ledgerSettings } from './ledger-options.ts'

export type LedgerEvents = {
  /** Once for every gap, in the one instance that was the first to notice. */
  permanentGap: [Gap]
  takenOver: [Claim & { readonly from: string | null }]
  /** Batches that waited for a gap are ready. */
  released: [{ readonly batches: number; readonly range: TickRange }]
}

type InTransaction = { readonly tx?: Transaction | undefined }

const LONGEST_NAME = 200
const LONGEST_ERROR = 4_000

/**
 * Which batches of a run an indexer has processed, who is at work on which, and which ticks are missing. Instances of
 * the indexer, in whatever process, share one ledger. How a batch goes from state to state: `ledger-change.ts`.
 */
export class BatchLedger {
  readonly events = new EventEmitter<LedgerEvents>()
  readonly #store: LedgerStore
  readonly #settings: LedgerSettings
  readonly #meter = new LedgerMeter()

  private constructor(store: LedgerStore, settings: LedgerSettings) {
    this.#store = store
    this.#settings = settings
  }

  static async open({ ledger }: Pick<IndexDatabase, 'ledger'>, options: LedgerOptions): Promise<BatchLedger> {
    const settings = ledgerSettings(options)
    const { indexer, samplingInterval, firstTick } = settings
    const stored = await ledger.open(indexer, { samplingInterval, firstTick })
    // Where it is not said, it is as it was when the ledger was begun.
    const isSameStart = options.firstTick === undefined || stored.firstTick === firstTick
    if (stored.samplingInterval !== samplingInterval || !isSameStart) {
      throw new LedgerConflictError(
        `The ledger of '${indexer}' was created with samplingInterval ${stored.samplingInterval} and firstTick ` +
          `${stored.firstTick}, not ${samplingInterval} and ${firstTick}. Use the same values for one run and indexer`,
      )
    }
    return new BatchLedger(ledger, { ...settings, firstTick: stored.firstTick })
  }

  /** Takes a batch that was found, if it is free and nothing is missing before it. */
  async tryClaim(batch: Batch, claimer: string): Promise<ClaimResult> {
    checkBatch(batch)
    storableText('claimer', claimer, LONGEST_NAME)
    this.#meter.add('claimAttempts')
    return await this.#meter.time('claim', () => this.#change(change => change.tryClaim(batch, claimer)))
  }

  /** Takes the lowest of those known that may be taken: one whose claimer is stuck, else a ready one. */
  async claimNext(claimer: string): Promise<Claim | null> {
    storableText('claimer', claimer, LONGEST_NAME)
    const claimNext = async (change: LedgerChange): Promise<Claim | null> => {
      const claim = await change.claimNext(claimer)
      // One that finds nothing has not tried. Counted before the claim itself is: who reads in between sees no rate above 1.
      if (claim !== null) this.#meter.add('claimAttempts')
      return claim
    }
    return await this.#meter.time('claim', () => this.#change(claimNext))
  }

  /** With `tx` it counts if and only if that transaction commits, like what was written of the batch in it. */
  async complete(claim: Claim, { tx }: InTransaction = {}): Promise<void> {
    await this.#meter.time('complete', () => this.#settle(claim, { status: 'completed', error: null }, tx))
  }

  /** It is not claimed again until somebody calls `retry`. */
  async fail(claim: Claim, error: unknown): Promise<void> {
    const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
    // PostgreSQL stores no NUL, and an error may quote a file.
    const storable = text.replaceAll('\0', '').slice(0, LONGEST_ERROR).toWellFormed()
    await this.#settle(claim, { status: 'failed', error: storable })
  }

  /** Gives a claim back at once, as an indexer that stops does. */
  async release(claim: Claim): Promise<void> {
    await this.#settle(claim, { status: 'ready', error: null })
  }

  /** Begins the claim's time anew. */
  async extend(claim: Claim): Promise<void> {
    await this.#change(change => change.extend(claim))
  }

  /** Lets a failed batch be claimed again; false where it isn't a failed one. */
  async retry(key: string): Promise<boolean> {
    return await this.#change(change => change.retry(key))
  }

  /**
   * For a source that needs no claims, as the topic: only notes what was processed, so that gaps are known all the
   * same. False where all of it was known before.
   */
  async recordProcessed({ tickStart, tickEnd }: TickRange, { tx }: InTransaction = {}): Promise<boolean> {
    checkRange({ tickStart, tickEnd })
    return await this.#change(change => change.recordProcessed({ tickStart, tickEnd }), tx)
  }

  /** The batches of these ticks were removed from the storage: they are no gap any more, and nothing waits for them. */
  async recordRemoved({ tickStart, tickEnd }: TickRange): Promise<void> {
    checkRange({ tickStart, tickEnd })
    await this.#change(change => change.recordRemoved({ tickStart, tickEnd }))
  }

  /** Gives up a claim on a batch that was removed from the storage. */
  async forget(claim: Claim): Promise<void> {
    await this.#change(change => change.forget(claim))
  }

  /** What a batch that starts at this tick would wait for; null: nothing. */
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

  /** Any instance may ask at any time: a gap is reported to one of them, once. */
  async reportPermanentGaps(): Promise<Gap[]> {
    return await this.#change(change => change.reportPermanentGaps())
  }

  /** What is missing, lowest first; a page begins with the first gap that something after tick `after` follows. */
  async gaps(page: Partial<LedgerPage> = {}): Promise<Gap[]> {
    const rows = await this.#store.gaps(this.#settings.indexer, checkedPage(page))
    return rows.map(row => gapBefore(row, this.#settings))
  }

  /** What was processed, in as few ranges as can be, lowest first; a page begins with the first after tick `after`. */
  async processedRanges(page: Partial<LedgerPage> = {}): Promise<TickRange[]> {
    return await this.#store.processed(this.#settings.indexer, checkedPage(page))
  }

  /** By key; a page begins after the key `after`. */
  async failed({ after = '', limit = 1_000 }: { after?: string; limit?: number } = {}): Promise<BatchRow[]> {
    return await this.#store.failed(this.#settings.indexer, { after, limit: wholeNumber('limit', limit, { min: 1 }) })
  }

  async batch(key: string): Promise<BatchRow | null> {
    return await this.#store.batch(this.#settings.indexer, key)
  }

  /** Batches in each state, over all instances: one row is read, however many there are. */
  async counts(): Promise<LedgerCounts> {
    return await this.#store.counts(this.#settings.indexer)
  }

  /** What this instance did, from memory. */
  metrics(): LedgerMetrics {
    return this.#meter.snapshot()
  }

  async #settle(claim: Claim, settled: Settled, tx?: Transaction): Promise<void> {
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
    // After the caller has its result: a listener that throws must not make a claim look lost that is held.
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
