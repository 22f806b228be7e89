import { ClosedError, type Delivery, type Duration, type Tidemark } from 'tidemark'
import { retryDelayMs } from '../../backoff.ts'
import type { TopicEnvelope } from '../../contracts/gen/tidemark/pipeline/v1/notification_pb.ts'
import { metadataInfoOf } from '../../contracts/notifications.ts'
import { IndexGoneError } from '../../databases/errors.ts'
import type { IndexDatabase } from '../../databases/index-database.ts'
import { ContractError } from '../../errors.ts'
import { isEnvironmentFault, whatIsAway } from '../../faults.ts'
import { refuseUnknown } from '../../options.ts'
import type { BindingMeter } from '../../resources/binding-meter.ts'
import { FileNotFoundError } from '../../storage/errors.ts'
import { type AnnouncementSettings, METADATA_TOPIC } from '../notification-topics.ts'
import type { ServiceContext } from '../service.ts'
import { pauseFor, untilAborted } from '../until-aborted.ts'
import { INDEXER_OPTIONS, Indexer, type IndexerOptions } from './indexer.ts'
import { LeaseExtender } from './lease-extender.ts'
import { openRunReader } from './sources/run-reader.ts'

/** Options of a MetadataIndexer. */
export type MetadataIndexerOptions = IndexerOptions & {
  /** Open Tidemark of the topic. */
  readonly tidemark: Tidemark
  /** Topic of announcements (default 'metadata-topic'). Each run has its own topic under this name: `topicOfRun`. */
  readonly topic?: string
  /** Name of the indexer (default 'metadata'). */
  readonly name?: string
  /** Consumer group (default: the name). */
  readonly group?: string
  /** Lease per message (default: the lease of the topic). */
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

const POLL_MS = 5_000

/** Copies the metadata of a run from the storage into its index, where other indexers wait for it. */
export class MetadataIndexer extends Indexer {
  readonly #tidemark: Tidemark
  readonly #topic: string
  readonly #group: string
  readonly #lease: Duration | undefined
  readonly #settings: AnnouncementSettings | undefined
  readonly #meter: BindingMeter | undefined
  #written = 0
  #failed = 0

  constructor(options: MetadataIndexerOptions) {
    refuseUnknown(options, [...INDEXER_OPTIONS, 'tidemark', 'topic', 'name', 'group', 'lease', 'settings', 'meter'])
    super(options.name ?? 'metadata', options)
    this.#tidemark = options.tidemark
    this.#topic = options.topic ?? METADATA_TOPIC
    this.#group = options.group ?? this.name
    this.#lease = options.lease
    this.#settings = options.settings
    this.#meter = options.meter
  }

  protected override async indexRun(database: IndexDatabase, context: ServiceContext): Promise<void> {
    const { signal } = context
    const ofGroup = {
      topic: this.#topic,
      group: this.#group,
      lease: this.#lease,
      settings: this.#settings,
      meter: this.#meter,
    }
    const opened = await openRunReader(this.#tidemark, database.runId, ofGroup)
    await using reader = opened.reader
    context.succeeded('open')
    using extender = new LeaseExtender(opened.extendEveryMs, context.note)
    for (let failures = 0; !signal.aborted; ) {
      await context.unpaused()
      try {
        const delivery = await untilAborted(reader.poll(POLL_MS), signal)
        context.succeeded('next metadata')
        failures = 0
        if (delivery !== null) await this.#process(delivery, database, context, extender)
      } catch (error) {
        if (error instanceof ClosedError || error instanceof IndexGoneError) throw error
        context.report('next metadata', error)
        using _waiting = context.waiting(whatIsAway(error))
        await pauseFor(retryDelayMs(failures++), signal)
      }
    }
  }

  protected override metrics(): Record<string, number> {
    return { metadataWritten: this.#written, metadataFailed: this.#failed }
  }

  /** Unavailable is not failed: it stays claimed until its file can be read and the index written. */
  async #process(
    delivery: Delivery<TopicEnvelope>,
    database: IndexDatabase,
    context: ServiceContext,
    extender: LeaseExtender,
  ): Promise<void> {
    const held = { key: delivery.messageId, extend: () => delivery.extend() }
    extender.add(held)
    try {
      await context.through('index metadata', () => this.#index(delivery, database), held.key)
    } catch (error) {
      if (isEnvironmentFault(error)) throw error
      this.#failed++
      // A message of another run says nothing about this run's metadata.
      if (error instanceof ContractError) context.note(`index metadata ${held.key}`, error)
      else context.report('index metadata', error, held.key)
      return await context.through('give back', () => delivery.nack(error), held.key)
    } finally {
      extender.delete(held)
    }
    await context.through('ack', () => delivery.ack(), held.key)
  }

  /** The run's topic carries only this run: anything else is a mistake of the publisher. */
  async #index({ payload }: Delivery<TopicEnvelope>, database: IndexDatabase): Promise<void> {
    const { runId, storageKey } = metadataInfoOf(payload)
    if (runId !== database.runId) {
      throw new ContractError(
        'MetadataInfo',
        `it belongs to run ${runId}, but is on the topic of run ${database.runId}`,
      )
    }
    const metadata = await this.storage.readMetadata(runId)
    if (metadata === null) throw new FileNotFoundError(storageKey)
    await database.metadata.write(metadata)
    this.#written++
  }
}
