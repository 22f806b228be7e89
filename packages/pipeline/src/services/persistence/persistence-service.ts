import type { Logger, Tidemark } from 'tidemark'
import { batchEnvelope } from '../../contracts/notifications.ts'
import { type EncodedTick, tickHeadOf } from '../../contracts/tick-codec.ts'
import { ContractError, InvalidRunIdError, LimitError } from '../../errors.ts'
import { LatencyWindow } from '../../metrics/latency-window.ts'
import type { DeadLetterQueue } from '../../queues/dead-letter-queue.ts'
import type { DrainableQueue } from '../../queues/drainable-queue.ts'
import { batchOf } from '../../storage/batch-order.ts'
import { InvalidBatchError } from '../../storage/errors.ts'
import type { Storage, StoredBatch } from '../../storage/storage.ts'
import type { IdempotencyTracker } from '../../trackers/idempotency-tracker.ts'
import { MemoryIdempotencyTracker } from '../../trackers/memory-idempotency-tracker.ts'
import { BATCH_TOPIC } from '../notification-topics.ts'
import { Service, type ServiceContext } from '../service.ts'
import { Announcer, type AnnouncingOptions } from './announcer.ts'
import { deadLetter, type Failure, type Outcome } from './attempts.ts'
import { DuplicateFilter } from './duplicate-filter.ts'
import { MixedRunsError } from './errors.ts'
import { type PersistenceOptions, type PersistenceSettings, persistenceSettings } from './options.ts'
import { storeOrBury } from './store-or-bury.ts'
import { StoredTicks } from './stored-ticks.ts'

/** Resources of a PersistenceService. */
export type PersistenceResources = {
  /** Queue of ticks. Several services can drain one; what each takes has no gaps, so their batches do not overlap. */
  readonly queue: DrainableQueue<EncodedTick>
  /** Storage of batch files. */
  readonly storage: Storage
  /** Tidemark of the announcements. */
  readonly topics: Tidemark
  /** Topic of the announcements and its settings. */
  readonly announcing?: AnnouncingOptions
  /** Queue of dead letters. */
  readonly deadLetters: DeadLetterQueue
  /** Ticks that were stored recently (default: in memory). It may forget some, because the storage is checked, too. */
  readonly tracker?: IdempotencyTracker
  /** Logger. */
  readonly logger: Logger
}

const MISFIT_ERRORS = [ContractError, InvalidBatchError, InvalidRunIdError, LimitError]
const TICK_TYPE = 'tidemark.pipeline.v1.TickData'
/** Ticks remembered as stored: 2 MB of them. The storage knows older ones. */
const TRACKED_TICKS = 10_000
/** Window of latencies: within a few seconds there may be no batch. */
const WINDOW_MS = 60_000

/**
 * Writes the ticks of a queue to batch files, and announces each on the batch topic.
 *
 *   queue ──drain──▶ one run? ──▶ not stored yet? ──▶ write ──▶ announce
 *                       │                               │          └─ failed: the reconciler announces it later
 *                       └──────────▶ dead letters ◀─────┘ given up
 */
export class PersistenceService extends Service {
  readonly #resources: PersistenceResources
  readonly #settings: PersistenceSettings
  readonly #announcer: Announcer
  readonly #duplicates: DuplicateFilter
  readonly #writeTimes = new LatencyWindow({ windowMs: WINDOW_MS })
  readonly #counts = {
    batchesWritten: 0,
    ticksWritten: 0,
    bytesWritten: 0,
    duplicateTicks: 0,
    mixedBatches: 0,
    batchesFailed: 0,
    deadLetters: 0,
  }
  #context: ServiceContext | undefined
  /** Drained, and not stored yet. */
  #bytesInHand = 0
  /** Resolves when the previous batch is announced. */
  #announced: Promise<void> = Promise.resolve()

  constructor(name: string, resources: PersistenceResources, options: PersistenceOptions = {}) {
    super(name, resources.logger)
    const { queue, storage, topics, tracker = new MemoryIdempotencyTracker({ maxEntries: TRACKED_TICKS }) } = resources
    this.#resources = resources
    this.#settings = persistenceSettings(options)
    this.#announcer = new Announcer(topics, BATCH_TOPIC, this.#settings.notifyRetry, resources.announcing)
    const report = (step: string, error: unknown): void => {
      if (error === null) this.#context?.succeeded(`idempotency tracker: ${step}`)
      else this.#context?.report(`idempotency tracker: ${step}`, error)
    }
    this.#duplicates = new DuplicateFilter(queue, tracker, new StoredTicks(storage), report)
  }

  protected override async run(context: ServiceContext): Promise<void> {
    const { queue } = this.#resources
    const { maxBatchSize, maxBatchBytes: maxBytes, concurrentBatches } = this.#settings
    this.#context = context
    const lanes = Array.from({ length: concurrentBatches }, () => this.#drainAndPersist(context))
    // What the others hold is stored before the failure of one is reported.
    const failed = (await Promise.allSettled(lanes)).find(lane => lane.status === 'rejected')
    if (failed) throw failed.reason
    // Queued ticks are only in memory. Their producer may continue, so no more than there are now.
    for (let left = queue.metrics.items + queue.metrics.waitingPuts; left > 0; ) {
      const ticks = await queue.drain(maxBatchSize, { timeout: 0, maxBytes })
      if (ticks.length === 0) return
      await this.#persist(ticks, context)
      left -= ticks.length
    }
  }

  /** Two of these run: while one batch is written to disk, the next is compressed. Announcements are in tick order. */
  async #drainAndPersist(context: ServiceContext): Promise<void> {
    const { queue } = this.#resources
    const { maxBatchSize, maxBatchBytes: maxBytes, batchTimeoutMs: timeout } = this.#settings
    while (!context.signal.aborted && !queue.isEnded) {
      await context.unpaused()
      const ticks = await queue.drain(maxBatchSize, { timeout, maxBytes, signal: context.signal })
      const before = this.#announced
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#announced = promise
      await this.#persist(ticks, context, before).finally(resolve)
    }
  }

  protected override metrics(): Record<string, number> {
    const { items, bytes } = this.#resources.queue.metrics
    const { p50, p95, p99 } = this.#writeTimes.snapshot()
    return {
      ...this.#counts,
      ...this.#announcer.metrics,
      queueItems: items,
      queueBytes: bytes,
      bytesInHand: this.#bytesInHand,
      writeMsP50: p50,
      writeMsP95: p95,
      writeMsP99: p99,
    }
  }

  async #persist(
    drained: readonly EncodedTick[],
    context: ServiceContext,
    before: Promise<void> = this.#announced,
  ): Promise<void> {
    if (drained.length === 0) return
    const bytes = drained.reduce((sum, tick) => sum + tick.bytes.length, 0)
    this.#bytesInHand += bytes
    await this.#persistRun(drained, context, before).finally(() => {
      this.#bytesInHand -= bytes
    })
  }

  async #persistRun(drained: readonly EncodedTick[], context: ServiceContext, before: Promise<void>): Promise<void> {
    const runIds = [...new Set(drained.map(({ runId }) => runId))]
    if (runIds.length > 1) {
      this.#counts.mixedBatches++
      const error = new MixedRunsError(runIds, drained.length)
      await this.#storeOrBury(drained, () => Promise.reject(error), context)
      return
    }
    const claimed = this.#duplicates.claim(drained)
    this.#counts.duplicateTicks += drained.length - claimed.length
    try {
      const sifted = await this.#storeOrBury(claimed, () => this.#duplicates.sift(claimed), context)
      if (!('value' in sifted)) return
      this.#counts.duplicateTicks += sifted.value.duplicates
      for (const batch of sifted.value.batches) await this.#write(batch, context, before)
    } finally {
      this.#duplicates.release(claimed)
    }
  }

  async #write(ticks: readonly EncodedTick[], context: ServiceContext, before: Promise<void>): Promise<void> {
    const outcome = await this.#storeOrBury(ticks, () => this.#timedWrite(ticks), context, misfitsOf)
    if ('value' in outcome) {
      await this.#duplicates.mark(ticks)
      this.#countWritten(outcome.value)
      await before
      await this.#announcer.announce(outcome.value.storageKey, batchEnvelope(outcome.value), context)
      return
    }
    const misfits = new Set(misfitsOf(ticks, outcome.failure.error))
    const others = ticks.filter(tick => !misfits.has(tick))
    if (misfits.size > 0 && others.length > 0) await this.#write(others, context, before)
  }

  async #timedWrite(ticks: readonly EncodedTick[]): Promise<StoredBatch> {
    const started = performance.now()
    const stored = await this.#resources.storage.writeBatch(batchOf(ticks))
    this.#writeTimes.record(performance.now() - started)
    return stored
  }

  /** `toBlame`: the ticks to dead-letter, if they are known; otherwise all of them. */
  async #storeOrBury<T>(
    ticks: readonly EncodedTick[],
    store: () => Promise<T>,
    context: ServiceContext,
    toBlame: typeof misfitsOf = () => [],
  ): Promise<Outcome<T>> {
    const [first, last] = [ticks[0], ticks.at(-1)]
    const storing = {
      what: `${ticks.length} ticks, ${first?.tick} to ${last?.tick}, of run ${first?.runId}`,
      store,
      bury: (failure: Failure) => {
        const blamed = toBlame(ticks, failure.error)
        return this.#bury(blamed.length > 0 ? blamed : ticks, failure)
      },
    }
    return await storeOrBury(storing, this.#settings.retry, context)
  }

  async #bury(ticks: readonly EncodedTick[], failure: Failure): Promise<void> {
    await this.#resources.deadLetters.put(lettersOf(ticks, failure, this.name))
    this.#counts.batchesFailed++
    this.#counts.deadLetters += ticks.length
  }

  #countWritten({ tickCount, bytes }: StoredBatch): void {
    this.#counts.batchesWritten++
    this.#counts.ticksWritten += tickCount
    this.#counts.bytesWritten += bytes
  }
}

/** Created one by one: each is a copy of its tick. */
function* lettersOf(ticks: readonly EncodedTick[], failure: Failure, service: string) {
  for (const { bytes } of ticks) yield deadLetter(failure, service, TICK_TYPE, bytes)
}

/** The ticks that are at fault on their own, so that the others need not be dead-lettered with them. */
function misfitsOf(ticks: readonly EncodedTick[], error: Error): EncodedTick[] {
  if (!MISFIT_ERRORS.some(type => error instanceof type)) return []
  return ticks.filter(tick => isTooLarge(tick, error) || !isWhatItSays(tick))
}

const isTooLarge = ({ bytes }: EncodedTick, error: Error): boolean =>
  error instanceof LimitError && error.limit === 'maxTickBytes' && bytes.length > error.most

function isWhatItSays({ runId, tick, bytes }: EncodedTick): boolean {
  try {
    const head = tickHeadOf(bytes)
    return head.runId === runId && head.tick === tick
  } catch {
    return false
  }
}
