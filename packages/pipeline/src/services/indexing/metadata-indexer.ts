import { ClosedError, type Delivery, type Tidemark } from 'tidemark'
import type { TopicEnvelope } from '../../contracts/gen/tidemark/pipeline/v1/notification_pb.ts'
import { metadataInfoOf } from '../../contracts/notifications.ts'
import type { IndexDatabase } from '../../databases/index-database.ts'
import { refuseUnknown } from '../../options.ts'
import { FileNotFoundError } from '../../storage/errors.ts'
import { configureNotificationTopic } from '../notification-topics.ts'
import type { ServiceContext } from '../service.ts'
import { INDEXER_OPTIONS, Indexer, type IndexerOptions } from './indexer.ts'
import { openRunReader, removeReplacedGroups } from './sources/run-groups.ts'
import { pauseFor, untilAborted } from './until-aborted.ts'

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
/** A database that is away is asked this often. */
const AFTER_FAILURE_MS = 200

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

  protected override async indexRun(
    database: IndexDatabase,
    { signal, report, unpaused }: ServiceContext,
  ): Promise<void> {
    await configureNotificationTopic(this.#tidemark, this.#topic)
    const ofGroup = [this.#tidemark, this.#topic, this.#group, database.runId] as const
    await removeReplacedGroups(...ofGroup).catch(error => report('remove groups of earlier runs', error))
    await using reader = openRunReader(...ofGroup)
    await reader.ready()
    while (!signal.aborted) {
      await unpaused()
      try {
        const delivery = await untilAborted(reader.poll(POLL_MS), signal)
        if (delivery !== null) await this.#process(delivery, database)
      } catch (error) {
        if (error instanceof ClosedError) throw error
        this.#failed++
        report('index metadata', error)
        await pauseFor(AFTER_FAILURE_MS, signal)
      }
    }
  }

  protected override metrics(): Record<string, number> {
    return { metadataWritten: this.#written, metadataFailed: this.#failed }
  }

  async #process(delivery: Delivery<TopicEnvelope>, database: IndexDatabase): Promise<void> {
    try {
      await this.#index(delivery, database)
    } catch (error) {
      await delivery.nack(error)
      throw error
    }
    await delivery.ack()
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
