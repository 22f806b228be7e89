import type { Delivery, Duration, Tidemark } from 'tidemark'
import type { TopicEnvelope } from '../../../contracts/gen/tidemark/pipeline/v1/notification_pb.ts'
import { type BatchInfo, batchInfoOf } from '../../../contracts/notifications.ts'
import type { TickRange } from '../../../databases/ledger-store.ts'
import { ContractError } from '../../../errors.ts'
import { refuseUnknown } from '../../../options.ts'
import type { BindingMeter } from '../../../resources/binding-meter.ts'
import { parseBatchKey } from '../../../storage/keys.ts'
import {
  ANNOUNCEMENT_ATTEMPTS,
  type AnnouncementSettings,
  BATCH_TOPIC,
  FOR_INDEXER,
} from '../../notification-topics.ts'
import { untilAborted } from '../../until-aborted.ts'
import type { BatchSource, OpenBatchSource, SourceBatch, SourceRun } from './batch-source.ts'
import { openRunReader, type RunReader } from './run-reader.ts'

/** Options of `topicSource`. */
export type TopicSourceOptions = {
  /** Topic of announcements (default 'batch-topic'). Each run has its own topic under this name: `topicOfRun`. */
  readonly topic?: string
  /** Consumer group (default: the name of the indexer). Instances of a group share its batches. */
  readonly group?: string
  /** Lease per batch (default: the lease of the topic). */
  readonly lease?: Duration
  /** Settings of the run's topic. */
  readonly settings?: AnnouncementSettings
  /**
   * Counts the traffic of a service's binding.
   *
   * @internal
   */
  readonly meter?: BindingMeter
}

/**
 * Source that receives batches when they are announced.
 *
 * @example
 * const source = topicSource(tm, { group: 'environment', lease: '30s' })
 */
export function topicSource(tidemark: Tidemark, options: TopicSourceOptions = {}): BatchSource {
  refuseUnknown(options, ['topic', 'group', 'lease', 'settings', 'meter'])
  const { topic = BATCH_TOPIC, group, lease, settings, meter } = options
  return {
    kind: 'topic',
    maxAttempts: settings?.maxAttempts ?? ANNOUNCEMENT_ATTEMPTS,
    async open(run) {
      const ofGroup = { topic, group: group ?? run.indexer, lease, settings, meter }
      const { reader, extendEveryMs, maxAttempts } = await openRunReader(tidemark, run.runId, ofGroup)
      const indexed = (await run.ledger?.processedRanges()) ?? []
      return new TopicBatches(reader, run, indexed, { extendEveryMs, maxAttempts })
    },
  }
}

type Limits = Pick<RunReader, 'extendEveryMs' | 'maxAttempts'>

class TopicBatches implements OpenBatchSource {
  readonly extendEveryMs: number
  readonly #reader: RunReader['reader']
  readonly #run: SourceRun
  /** What was in the index at the start: the first thousand ranges, and usually there is one. */
  readonly #indexed: readonly TickRange[]
  readonly #maxAttempts: number

  constructor(reader: RunReader['reader'], run: SourceRun, indexed: readonly TickRange[], limits: Limits) {
    this.#reader = reader
    this.#run = run
    this.#indexed = indexed
    this.extendEveryMs = limits.extendEveryMs
    this.#maxAttempts = limits.maxAttempts
  }

  async next(timeoutMs: number, signal: AbortSignal): Promise<SourceBatch | null> {
    const until = performance.now() + timeoutMs
    while (!signal.aborted) {
      const left = Math.max(0, until - performance.now())
      // If nobody waits for the result of a poll any more, the reader releases it when it is closed.
      const delivery = await untilAborted(this.#reader.poll(left), signal)
      if (delivery === null) return null
      const batch = await this.#accept(delivery)
      if (batch !== null) return batch
    }
    return null
  }

  async close(): Promise<void> {
    await this.#reader.close()
  }

  async #accept(delivery: Delivery<TopicEnvelope>): Promise<SourceBatch | null> {
    const { [FOR_INDEXER]: wanted } = delivery.headers
    if (wanted !== undefined && wanted !== this.#run.indexer) {
      await delivery.ack()
      return null
    }
    try {
      const info = checkedInfo(delivery.payload, this.#run.runId)
      return new TopicBatch(delivery, info, this.#run, this.#isIndexed(info), this.#maxAttempts)
    } catch (error) {
      this.#run.context.note(`message ${delivery.messageId} of ${delivery.topic}`, error)
      await delivery.nack(error)
      return null
    }
  }

  #isIndexed({ tickStart, tickEnd }: BatchInfo): boolean {
    return this.#indexed.some(range => range.tickStart <= tickStart && tickEnd <= range.tickEnd)
  }
}

class TopicBatch implements SourceBatch {
  readonly info: BatchInfo
  readonly isIndexed: boolean
  readonly #delivery: Delivery<TopicEnvelope>
  readonly #run: SourceRun
  readonly #maxAttempts: number

  constructor(
    delivery: Delivery<TopicEnvelope>,
    info: BatchInfo,
    run: SourceRun,
    isIndexed: boolean,
    maxAttempts: number,
  ) {
    this.#maxAttempts = maxAttempts
    this.info = info
    this.isIndexed = isIndexed
    this.#delivery = delivery
    this.#run = run
  }

  get key(): string {
    return this.info.storageKey
  }

  get tickStart(): number {
    return this.info.tickStart
  }

  get tickEnd(): number {
    return this.info.tickEnd
  }

  get attempt(): number {
    return this.#delivery.attempt
  }

  async complete(tx?: Parameters<SourceBatch['complete']>[0]): Promise<void> {
    await this.#run.ledger?.recordProcessed(this, { tx })
  }

  async ack(): Promise<void> {
    await this.#delivery.ack()
  }

  async passOver(): Promise<void> {
    await this.#run.ledger?.recordRemoved(this)
    await this.#delivery.ack()
  }

  async reject(error: unknown): Promise<boolean> {
    await this.#delivery.nack(error)
    return this.#delivery.attempt < this.#maxAttempts
  }

  async discard(): Promise<void> {
    await this.#delivery.ack()
  }

  async extend(): Promise<void> {
    await this.#delivery.extend()
  }
}

/** The ledger relies on the range, so it must be the file's; and the run's topic carries only this run. */
function checkedInfo(payload: TopicEnvelope, ofRun: string): BatchInfo {
  const info = batchInfoOf(payload)
  const { runId, tickStart, tickEnd } = parseBatchKey(info.storageKey)
  const isOfFile = runId === info.runId && tickStart === info.tickStart && tickEnd === info.tickEnd
  if (!isOfFile) throw new ContractError('BatchInfo', `its run or ticks do not match ${info.storageKey}`)
  if (runId !== ofRun)
    throw new ContractError('BatchInfo', `it belongs to run ${runId}, but is on the topic of run ${ofRun}`)
  return info
}
