import { ClosedError, type Delivery, type Tidemark } from 'tidemark'
import type { TopicEnvelope } from '../../contracts/gen/tidemark/pipeline/v1/notification_pb.ts'
import { metadataInfoOf } from '../../contracts/notifications.ts'
import { IndexGoneError } from '../../databases/errors.ts'
import type { IndexDatabase } from '../../databases/index-database.ts'
import { isEnvironmentFault, whatIsAway } from '../../faults.ts'
import { refuseUnknown } from '../../options.ts'
import { FileNotFoundError } from '../../storage/errors.ts'
import { configureNotificationTopic } from '../notification-topics.ts'
import type { ServiceContext } from '../service.ts'
import { backoffMs, pauseFor, untilAborted } from '../until-aborted.ts'
import { INDEXER_OPTIONS, Indexer, type IndexerOptions } from './indexer.ts'
import { LeaseExtender } from './lease-extender.ts'
import { openRunReader, removeReplacedGroups } from './sources/run-groups.ts'

export type MetadataIndexerOptions = IndexerOptions & {
  readonly tidemark: Tidemark
  /** Default 'metadata-topic'. */
  readonly topic?: string
  /** Default 'metadata'. */
  readonly name?: string
  /** Its consumer group. Default: its name. */
  readonly group?: string
}

const POLL_MS = 5_000
/** A lease without end needs no extension; this only keeps a timer within what a timer can wait. */
const LONGEST_EXTEND_MS = 60_000

/** Brings a run's metadata from the storage into its index, which is what the other indexers wait for. */
export class MetadataIndexer extends Indexer {
  readonly #tidemark: Tidemark
  readonly #topic: string
  readonly #group: string
  #written = 0
  #failed = 0

  constructor(options: MetadataIndexerOptions) {
    refuseUnknown(options, [...INDEXER_OPTIONS, 'tidemark', 'topic', 'name', 'group'])
    super(options.name ?? 'metadata', options)
    this.#tidemark = options.tidemark
    this.#topic = options.topic ?? 'metadata-topic'
    this.#group = options.group ?? this.name
  }

  protected override async indexRun(database: IndexDatabase, context: ServiceContext): Promise<void> {
    const { signal } = context
    const { leaseMs } = await configureNotificationTopic(this.#tidemark, this.#topic)
    const ofGroup = [this.#tidemark, this.#topic, this.#group, database.runId] as const
    await removeReplacedGroups(...ofGroup, context)
    await using reader = openRunReader(...ofGroup)
    await reader.ready()
    context.succeeded('open')
    using extender = new LeaseExtender(Math.min(LONGEST_EXTEND_MS, leaseMs / 3 || LONGEST_EXTEND_MS), context.note)
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
        await pauseFor(backoffMs(failures++), signal)
      }
    }
  }

  protected override metrics(): Record<string, number> {
    return { metadataWritten: this.#written, metadataFailed: this.#failed }
  }

  /** Away is not failed: it stays in hand until its file can be read and the index written. */
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
      context.report('index metadata', error, held.key)
      return await context.through('give back', () => delivery.nack(error), held.key)
    } finally {
      extender.delete(held)
    }
    await context.through('ack', () => delivery.ack(), held.key)
  }

  /** The topic carries all runs; those of others are passed over. */
  async #index({ payload }: Delivery<TopicEnvelope>, database: IndexDatabase): Promise<void> {
    const { runId, storageKey } = metadataInfoOf(payload)
    if (runId !== database.runId) return
    const metadata = await this.storage.readMetadata(runId)
    if (metadata === null) throw new FileNotFoundError(storageKey)
    await database.metadata.write(metadata)
    this.#written++
  }
}
