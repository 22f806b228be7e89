/**
 * The loop of a batch indexer:
 *
 *     next batch ──▶ read, tick by tick ──▶ buffer ──full, due or stopping──▶ flush ──▶ ack what is whole in the index
 *          ▲                 │ fails                                            │ fails
 *          └──── later ──────┴──────────── the batches concerned ◀──────────────┘        (dlq: or a dead letter)
 *
 * One transaction holds the ticks of a flush and the ledger's word that a batch is complete. The ack follows its commit.
 */
import { ClosedError, StaleDeliveryError } from 'tidemark'
import { decodeRawTick, type EncodedTick } from '../../contracts/tick-codec.ts'
import { IndexFullError, IndexLockedError, IndexReadOnlyError, IndexUnreachableError } from '../../databases/errors.ts'
import { StaleClaimError } from '../../ledger/errors.ts'
import { CorruptFileError } from '../../storage/errors.ts'
import type { Storage } from '../../storage/storage.ts'
import type { ServiceContext } from '../service.ts'
import type { HeldBatch, Taken, TickBuffer } from './components/buffering.ts'
import type { DeadLetterComponent } from './components/dead-letters.ts'
import type { IdempotencyComponent } from './components/idempotency.ts'
import type { IndexedRun, IndexerDefinition } from './definition.ts'
import type { FlushMeter } from './flush-meter.ts'
import type { GapWatch } from './gap-watch.ts'
import type { IndexerCounts } from './indexer-counts.ts'
import type { LeaseExtender } from './lease-extender.ts'
import type { OpenBatchSource, SourceBatch } from './sources/batch-source.ts'
import { pauseFor } from './until-aborted.ts'

export type BatchLoopParts = {
  readonly definition: Required<IndexerDefinition>
  readonly run: IndexedRun
  readonly source: OpenBatchSource
  readonly storage: Storage
  readonly buffer: TickBuffer
  readonly extender: LeaseExtender
  readonly idempotency: IdempotencyComponent | null
  readonly deadLetters: DeadLetterComponent | null
  readonly gaps: GapWatch | null
  readonly counts: IndexerCounts
  readonly meter: FlushMeter
  readonly context: ServiceContext
  isPaused(): boolean
  /** A batch is whole in the index and acked, or a dead letter. */
  settled(batch: SourceBatch, outcome: 'indexed' | 'deadLettered'): void
}

const FIRST_WAIT_MS = 100
const LONGEST_WAIT_MS = 5_000

export class BatchLoop {
  readonly #parts: BatchLoopParts
  readonly #signal: AbortSignal
  /** Failures of a database in a row. */
  #outages = 0

  constructor(parts: BatchLoopParts) {
    this.#parts = parts
    this.#signal = parts.context.signal
  }

  /** The topics or the index can't be reached. */
  get isSittingOut(): boolean {
    return this.#outages > 0
  }

  async run(): Promise<void> {
    const { buffer, context } = this.#parts
    while (!this.#signal.aborted) {
      if (this.#parts.isPaused()) await this.#flush()
      await context.unpaused()
      const batch = await this.#next()
      if (batch !== null) await this.#process(batch)
      if (buffer.isDue) await this.#flush()
      await this.#parts.gaps?.look().catch(error => context.report('look for gaps', error))
    }
    await this.#flush()
  }

  /** A topic or a ledger that can't be reached for a while is no reason to end. */
  async #next(): Promise<SourceBatch | null> {
    try {
      const batch = await this.#parts.source.next(this.#parts.buffer.msUntilDue(), this.#signal)
      this.#outages = 0
      return batch
    } catch (error) {
      if (error instanceof ClosedError) throw error
      await this.#sitOut('next batch', error)
      return null
    }
  }

  async #process(batch: SourceBatch): Promise<void> {
    const { buffer, counts, extender } = this.#parts
    counts.add('batchesReceived')
    const held: HeldBatch = { batch, isRead: false, isDropped: false }
    try {
      if (await this.#skip(batch)) return
      const isAlone = batch.attempt > 1
      if (isAlone) await this.#flush()
      extender.add(batch)
      await this.#read(held)
      if (buffer.isFull || isAlone) await this.#flush()
    } catch (error) {
      await this.#fail(held, error)
    }
  }

  /** Indexed before, and its ack was lost. */
  async #skip(batch: SourceBatch): Promise<boolean> {
    const { idempotency, counts } = this.#parts
    if (!batch.isIndexed && !(await idempotency?.isIndexed(batch.key))) return false
    if (!batch.isIndexed) await batch.complete()
    await batch.ack()
    counts.add('batchesSkipped')
    return true
  }

  async #read(held: HeldBatch): Promise<void> {
    // One tick behind: when the last one is buffered, the whole file is known to be good.
    let previous: EncodedTick | undefined
    for await (const tick of this.#parts.storage.readTicks(held.batch.key)) {
      if (previous !== undefined) await this.#buffer(held, previous)
      if (held.isDropped || this.#signal.aborted) return
      previous = tick
    }
    held.isRead = true
    if (previous !== undefined) await this.#buffer(held, previous)
  }

  async #buffer(held: HeldBatch, { tick, bytes }: EncodedTick): Promise<void> {
    const { buffer } = this.#parts
    const raw = decodeRawTick(bytes)
    if (buffer.isFull || buffer.has(tick)) await this.#flush()
    if (held.isDropped) return
    buffer.add(held, raw, bytes.length)
    if (buffer.isFull) await this.#flush()
  }

  async #flush(): Promise<void> {
    const { buffer, counts } = this.#parts
    for (let taken = buffer.take(); taken.ticks.length > 0; ) {
      try {
        await this.#write(taken)
        this.#outages = 0
        break
      } catch (error) {
        counts.add('flushesFailed')
        if (error instanceof StaleClaimError) {
          taken = await this.#without(taken, error)
        } else if (!isOutage(error)) {
          for (const held of taken.batches) await this.#fail(held, error)
          break
        } else if (this.#signal.aborted) {
          // Neither indexed nor acked, whatever of them is flushed later: they are another's, or the next start's.
          for (const held of taken.batches) buffer.drop(held)
          this.#parts.context.report('last flush', error)
          break
        } else await this.#sitOut('flush', error)
      }
    }
  }

  async #write({ ticks, completed }: Taken): Promise<void> {
    const { definition, run, counts, meter } = this.#parts
    const started = performance.now()
    const completedBatches = completed.map(({ batch: { key, tickStart, tickEnd } }) => ({ key, tickStart, tickEnd }))
    await run.database.transaction(async tx => {
      await definition.flush(ticks, tx, { run, completedBatches })
      // Last, because all instances queue up behind the ledger's row.
      for (const { batch } of completed) await batch.complete(tx)
    })
    counts.add('flushes')
    counts.add('ticksIndexed', ticks.length)
    meter.record(ticks.length, performance.now() - started)
    this.#tellFlushed(ticks)
    await this.#ack(completed.map(({ batch }) => batch))
  }

  /** They are in the index, whatever the definition makes of that. */
  #tellFlushed(ticks: Taken['ticks']): void {
    try {
      this.#parts.definition.flushed(ticks)
    } catch (error) {
      this.#parts.context.report('flushed', error)
    }
  }

  async #ack(batches: readonly SourceBatch[]): Promise<void> {
    for (const batch of batches) this.#parts.extender.delete(batch)
    // Together, so that they share a transaction of the topics; what follows is in the order of the batches.
    const acks = await Promise.allSettled(batches.map(batch => batch.ack()))
    for (const [index, batch] of batches.entries()) {
      const ack = acks[index]
      if (ack?.status === 'fulfilled') await this.#acked(batch)
      else this.#notAcked(batch, ack?.reason)
    }
  }

  async #acked(batch: SourceBatch): Promise<void> {
    const { idempotency, deadLetters, counts, context, settled } = this.#parts
    try {
      await idempotency?.markIndexed(batch.key)
      if (batch.attempt > 1) await deadLetters?.reset(batch)
    } catch (error) {
      // Without the mark it is read once more if it comes again, and that is all.
      context.report(`mark ${batch.key}`, error)
    }
    counts.add('batchesIndexed')
    settled(batch, 'indexed')
  }

  /** It is in the index; delivered again it gives the same. */
  #notAcked(batch: SourceBatch, error: unknown): void {
    if (error instanceof StaleDeliveryError) this.#parts.counts.add('staleAcks')
    this.#parts.context.report(`ack ${batch.key}`, error)
  }

  /** Somebody took over one of the batches: it is theirs, and the others are tried without it. */
  async #without(taken: Taken, error: StaleClaimError): Promise<Taken> {
    const lost = taken.batches.find(({ batch }) => batch.key === error.key)
    if (lost === undefined) throw error
    await this.#fail(lost, error)
    return taken.without(lost)
  }

  async #fail(held: HeldBatch, error: unknown): Promise<void> {
    const { batch } = held
    const { buffer, extender, counts, context } = this.#parts
    if (held.isDropped) return
    buffer.drop(held)
    extender.delete(batch)
    counts.add('batchesFailed')
    context.report(`index ${batch.key}`, error)
    try {
      if (error instanceof CorruptFileError) await this.#quarantine(batch, error)
      await this.#giveUpOrBack(batch, error)
    } catch (cause) {
      // It comes again by itself when its lease or claim is over.
      context.report(`give back ${batch.key}`, cause)
    }
  }

  async #giveUpOrBack(batch: SourceBatch, error: unknown): Promise<void> {
    if (!(await this.#isDeadLetter(batch, error))) return await batch.reject(error)
    await batch.discard(error)
    this.#parts.counts.add('batchesDeadLettered')
    this.#parts.settled(batch, 'deadLettered')
  }

  async #isDeadLetter(batch: SourceBatch, error: unknown): Promise<boolean> {
    const { deadLetters, context } = this.#parts
    // A batch that others took over, or that the database's absence hit, has not failed itself.
    if (deadLetters === null || error instanceof StaleClaimError || isOutage(error)) return false
    try {
      return await deadLetters.takes(batch, error)
    } catch (cause) {
      context.report(`dead letter of ${batch.key}`, cause)
      return false
    }
  }

  async #quarantine({ key }: SourceBatch, error: CorruptFileError): Promise<void> {
    const { storage, context } = this.#parts
    // Another indexer may have been quicker.
    await storage.quarantine(key, error.message).catch(cause => context.report(`quarantine ${key}`, cause))
  }

  async #sitOut(action: string, error: unknown): Promise<void> {
    this.#parts.context.report(action, error)
    await pauseFor(Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** this.#outages++), this.#signal)
  }
}

/** The database's trouble, not the batches': the same flush is tried again until it is over. */
const isOutage = (error: unknown): boolean =>
  error instanceof IndexUnreachableError ||
  error instanceof IndexLockedError ||
  error instanceof IndexFullError ||
  error instanceof IndexReadOnlyError
