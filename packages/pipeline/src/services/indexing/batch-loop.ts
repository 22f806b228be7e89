/**
 * The loop of a batch indexer:
 *
 *     next batch ──▶ read, tick by tick ──▶ buffer ──full, due or stopping──▶ flush ──▶ ack complete batches
 *          ▲                 │ fails                                            │ fails
 *          └──── later ──────┴──────────── the batches concerned ◀──────────────┘        (dlq: or a dead letter)
 *
 * One transaction contains the ticks of a flush and the ledger entry that a batch is complete. The ack follows its commit.
 *
 * An environment fault (`faults.ts`) is not the batch's failure: the batches stay claimed, their leases are extended, and the
 * same step is retried for as long as it takes. Only a fault of the batch itself counts as one of its attempts.
 */
import { ClosedError, StaleDeliveryError } from 'tidemark'
import { retryDelayMs } from '../../backoff.ts'
import { decodeRawTick, type EncodedTick } from '../../contracts/tick-codec.ts'
import { IndexGoneError } from '../../databases/errors.ts'
import { isEnvironmentFault, whatIsAway } from '../../faults.ts'
import { StaleClaimError } from '../../ledger/errors.ts'
import { BatchRemovedError, CorruptFileError } from '../../storage/errors.ts'
import type { Storage } from '../../storage/storage.ts'
import type { ServiceContext } from '../service.ts'
import { pauseFor } from '../until-aborted.ts'
import type { HeldBatch, Taken, TickBuffer } from './components/buffering.ts'
import { type DeadLetterComponent, isFinal } from './components/dead-letters.ts'
import type { IdempotencyComponent } from './components/idempotency.ts'
import type { IndexedRun, IndexerDefinition } from './definition.ts'
import type { FlushMeter } from './flush-meter.ts'
import type { GapWatch } from './gap-watch.ts'
import type { IndexerCounts } from './indexer-counts.ts'
import type { LeaseExtender } from './lease-extender.ts'
import type { Removal } from './removal.ts'
import type { OpenBatchSource, SourceBatch } from './sources/batch-source.ts'
import { refusing, verifyOnce } from './verify-once.ts'

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
  readonly removal: Removal
  readonly counts: IndexerCounts
  readonly meter: FlushMeter
  readonly context: ServiceContext
  isPaused(): boolean
  /** A batch is completely indexed and acked, or dead-lettered. */
  settled(batch: SourceBatch, outcome: 'indexed' | 'deadLettered'): void
}

export class BatchLoop {
  readonly #parts: BatchLoopParts
  readonly #signal: AbortSignal

  constructor(parts: BatchLoopParts) {
    this.#parts = parts
    this.#signal = parts.context.signal
  }

  async run(): Promise<void> {
    const { buffer, context } = this.#parts
    while (!this.#signal.aborted) {
      if (this.#parts.isPaused()) await this.#flush()
      await context.unpaused()
      const batch = await this.#next()
      if (batch !== null) await this.#process(batch)
      if (buffer.isDue) await this.#flush()
      await this.#lookForGaps()
      await this.#followRemoval()
    }
    await this.#flush()
  }

  /** Whatever error a topic or a ledger returns, it is retried. */
  async #next(): Promise<SourceBatch | null> {
    const { source, buffer, context } = this.#parts
    for (let failures = 0; ; failures++) {
      try {
        const batch = await source.next(this.#msUntilDue(), this.#signal)
        context.succeeded('next batch')
        return batch
      } catch (error) {
        if (error instanceof ClosedError || error instanceof IndexGoneError) throw error
        await this.#sitOut('next batch', error, failures)
      }
      // Buffered ticks need not wait for the next batch.
      if (this.#signal.aborted || buffer.isDue) return null
    }
  }

  /** Without a new batch there are still gaps and removed ticks to check, and failed batches to retry. */
  #msUntilDue(): number {
    const { buffer, gaps, removal } = this.#parts
    return Math.min(buffer.msUntilDue(), gaps?.msUntilDue ?? Number.POSITIVE_INFINITY, removal.msUntilDue)
  }

  async #process(batch: SourceBatch): Promise<void> {
    const { buffer, counts, extender } = this.#parts
    counts.add('batchesReceived')
    extender.add(batch)
    for (let failures = 0; ; failures++) {
      const held: HeldBatch = { batch, isRead: false, isDropped: false }
      try {
        return await this.#index(held)
      } catch (error) {
        if (error instanceof IndexGoneError) throw error
        if (error instanceof BatchRemovedError) return await this.#passOver(held, error)
        if (!isEnvironmentFault(error)) return await this.#failToRead(held, error)
        // Read again from its start: ticks that were flushed meanwhile are written once more.
        buffer.drop(held)
        await this.#sitOut('index', error, failures, batch.key)
        if (this.#signal.aborted) return
        if (buffer.isDue) await this.#flush()
      }
    }
  }

  async #index(held: HeldBatch): Promise<void> {
    const { buffer, context } = this.#parts
    const { batch } = held
    if (await this.#skip(batch)) return context.succeeded('index')
    const isAlone = batch.attempt > 1
    if (isAlone) await this.#flush()
    await this.#read(held)
    if (held.isRead) context.succeeded('index')
    if (buffer.isFull || isAlone) await this.#flush()
  }

  /** Indexed before, and its ack was lost. */
  async #skip(batch: SourceBatch): Promise<boolean> {
    const { idempotency, counts, extender } = this.#parts
    if (!batch.isIndexed && !(await idempotency?.isIndexed(batch.key))) return false
    if (!batch.isIndexed) await batch.complete()
    await batch.ack()
    extender.delete(batch)
    counts.add('batchesSkipped')
    return true
  }

  /** It was removed for its age: nobody failed, and nothing is missing. */
  async #passOver(held: HeldBatch, error: BatchRemovedError): Promise<void> {
    const { buffer, counts, context, extender } = this.#parts
    const { batch } = held
    buffer.drop(held)
    context.succeeded('index')
    try {
      await context.through('pass over', () => batch.passOver(), batch.key)
      counts.add('batchesRemoved')
    } catch (cause) {
      // It is redelivered when its lease or claim expires.
      context.note(`pass over ${batch.key}: ${error.message}`, cause)
    } finally {
      extender.delete(batch)
    }
  }

  async #failToRead(held: HeldBatch, error: unknown): Promise<void> {
    const { context } = this.#parts
    if (error instanceof StaleClaimError) {
      // Another instance has it, and the index has answered: earlier failures are over.
      context.succeeded('index')
      context.note(`index ${held.batch.key}`, error)
    } else context.report('index', error, held.batch.key)
    await this.#fail(held, error)
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
    const { buffer, run } = this.#parts
    const raw = refusing(held.batch.key, tick, () => decodeRawTick(bytes))
    verifyOnce(held.batch.key, raw, bytes, run.metadata)
    if (buffer.isFull || buffer.has(tick)) await this.#flush()
    if (held.isDropped) return
    buffer.add(held, raw, bytes.length)
    if (buffer.isFull) await this.#flush()
  }

  async #flush(): Promise<void> {
    const { buffer, counts, context } = this.#parts
    let taken = buffer.take()
    if (taken.ticks.length === 0) return
    for (let failures = 0; taken.ticks.length > 0; ) {
      try {
        await context.watch('flush', () => this.#write(taken))
        break
      } catch (error) {
        counts.add('flushesFailed')
        if (error instanceof StaleClaimError) {
          taken = await this.#without(taken, error)
        } else if (error instanceof IndexGoneError) {
          throw error
        } else if (!isEnvironmentFault(error)) {
          context.report('flush', error, taken.batches.map(({ batch }) => batch.key).join(' '))
          for (const held of taken.batches) await this.#fail(held, error)
          return
        } else {
          await this.#sitOut('flush', error, failures++)
          if (!this.#signal.aborted) continue
          // Neither indexed nor acked, whatever is flushed of them later: another instance, or the next start,
          // processes them.
          for (const held of taken.batches) buffer.drop(held)
          return
        }
      }
    }
    // Also if others have taken over all of its batches: the index has answered.
    context.succeeded('flush')
    await this.#ack(taken.completed.map(({ batch }) => batch))
  }

  async #write({ ticks, completed }: Taken): Promise<void> {
    const { definition, run, counts, meter } = this.#parts
    const started = performance.now()
    const completedBatches = completed.map(({ batch: { key, tickStart, tickEnd } }) => ({ key, tickStart, tickEnd }))
    await run.database.transaction(async tx => {
      await definition.flush(ticks, tx, { run, completedBatches })
      // Last, because all instances wait for the ledger's row.
      for (const { batch } of completed) await batch.complete(tx)
    })
    counts.add('flushes')
    counts.add('ticksIndexed', ticks.length)
    meter.record(ticks.length, performance.now() - started)
    this.#tellFlushed(ticks)
  }

  /** The ticks are in the index, whatever the definition's callback does. */
  #tellFlushed(ticks: Taken['ticks']): void {
    try {
      this.#parts.definition.flushed(ticks)
    } catch (error) {
      this.#parts.context.note('flushed', error)
    }
  }

  async #ack(batches: readonly SourceBatch[]): Promise<void> {
    const { context, extender } = this.#parts
    // Together, so that they share a transaction of the topics; what follows is in batch order.
    const ack = (batch: SourceBatch) => context.watch('ack', () => batch.ack())
    const acks = await Promise.allSettled(batches.map(batch => context.through('ack', () => ack(batch), batch.key)))
    for (const batch of batches) extender.delete(batch)
    for (const [index, batch] of batches.entries()) {
      const outcome = acks[index]
      if (outcome?.status === 'fulfilled') await this.#acked(batch)
      else this.#notAcked(batch, outcome?.reason)
    }
  }

  async #acked(batch: SourceBatch): Promise<void> {
    const { idempotency, deadLetters, counts, context, settled } = this.#parts
    try {
      await context.through('mark', async () => {
        await idempotency?.markIndexed(batch.key)
        if (batch.attempt > 1) await deadLetters?.reset(batch)
      })
    } catch (error) {
      // Without the mark the batch is only read once more if it is redelivered: setting the mark is not retried.
      context.succeeded('mark')
      context.note(`mark ${batch.key}`, error)
    }
    // It no longer has to become a dead letter.
    if (batch.attempt > 1) context.succeeded('dead letter')
    counts.add('batchesIndexed')
    settled(batch, 'indexed')
  }

  /** It is in the index; indexing it again gives the same result. */
  #notAcked(batch: SourceBatch, error: unknown): void {
    if (error instanceof StaleDeliveryError) this.#parts.counts.add('staleAcks')
    this.#parts.context.note(`ack ${batch.key}`, error)
  }

  /** Another instance took over one of the batches; the others are retried without it. */
  async #without(taken: Taken, error: StaleClaimError): Promise<Taken> {
    const lost = taken.batches.find(({ batch }) => batch.key === error.key)
    if (lost === undefined) throw error
    this.#parts.context.note(`index ${error.key}`, error)
    await this.#fail(lost, error)
    return taken.without(lost)
  }

  async #fail(held: HeldBatch, error: unknown): Promise<void> {
    const { batch } = held
    const { buffer, extender, counts, context } = this.#parts
    if (held.isDropped) return
    buffer.drop(held)
    counts.add('batchesFailed')
    try {
      if (error instanceof CorruptFileError) await this.#quarantine(batch, error)
      await this.#giveUpOrBack(batch, error)
    } catch (cause) {
      // It is redelivered when its lease or claim expires.
      context.note(`give back ${batch.key}`, cause)
    } finally {
      extender.delete(batch)
    }
  }

  async #giveUpOrBack(batch: SourceBatch, error: unknown): Promise<void> {
    const { context, counts, settled } = this.#parts
    if (await this.#isDeadLetter(batch, error)) {
      await context.through('give up', () => batch.discard(error), batch.key)
      counts.add('batchesDeadLettered')
      this.#gaveUp(batch, error)
      settled(batch, 'deadLettered')
    } else {
      const comesAgain = await context.through('give back', () => batch.reject(error), batch.key)
      if (!comesAgain) this.#gaveUp(batch, error)
    }
  }

  /** A damaged or refused batch fails everywhere and is not retried: the indexer itself is healthy. */
  #gaveUp(batch: SourceBatch, error: unknown): void {
    const { context } = this.#parts
    if (isFinal(error)) context.succeeded('index')
    context.note(`gave up ${batch.key}`, error)
  }

  async #isDeadLetter(batch: SourceBatch, error: unknown): Promise<boolean> {
    const { deadLetters, context } = this.#parts
    // A batch that others took over has not failed.
    if (deadLetters === null || error instanceof StaleClaimError) return false
    try {
      const isDead = await deadLetters.takes(batch, error, step => context.through('dead letter', step, batch.key))
      context.succeeded('dead letter')
      return isDead
    } catch (cause) {
      context.report('dead letter', cause, batch.key)
      return false
    }
  }

  async #quarantine({ key }: SourceBatch, error: CorruptFileError): Promise<void> {
    const { storage, context } = this.#parts
    try {
      await context.through('quarantine', () => storage.quarantine(key, error.message), key)
    } catch (cause) {
      // Another indexer may have been faster.
      context.note(`quarantine ${key}`, cause)
    }
  }

  async #lookForGaps(): Promise<void> {
    const { gaps, context } = this.#parts
    if (gaps === null || gaps.msUntilDue > 0) return
    try {
      await context.watch('look for gaps', () => gaps.look())
      context.succeeded('look for gaps')
    } catch (error) {
      if (error instanceof IndexGoneError) throw error
      context.report('look for gaps', error)
    }
  }

  async #followRemoval(): Promise<void> {
    const { removal, context } = this.#parts
    if (removal.msUntilDue > 0) return
    try {
      await context.watch('look for removed ticks', () => removal.look())
      context.succeeded('look for removed ticks')
    } catch (error) {
      if (error instanceof IndexGoneError) throw error
      context.report('look for removed ticks', error)
    }
  }

  async #sitOut(operation: string, error: unknown, failures: number, about?: string): Promise<void> {
    const { context } = this.#parts
    context.report(operation, error, about)
    using _waiting = context.waiting(whatIsAway(error))
    await pauseFor(retryDelayMs(failures), this.#signal)
  }
}
