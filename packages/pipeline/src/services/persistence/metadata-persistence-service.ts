import type { Logger, Tidemark } from 'tidemark'
import { decodeMetadata, encodeMetadata } from '../../contracts/metadata-codec.ts'
import { metadataEnvelope } from '../../contracts/notifications.ts'
import type { SimulationMetadata } from '../../contracts/tick.ts'
import type { DeadLetterQueue } from '../../queues/dead-letter-queue.ts'
import type { DrainableQueue } from '../../queues/drainable-queue.ts'
import type { Movable } from '../../queues/worker-queue.ts'
import type { Storage } from '../../storage/storage.ts'
import { METADATA_TOPIC } from '../notification-topics.ts'
import { Service, type ServiceContext } from '../service.ts'
import { Announcer, type AnnouncingOptions } from './announcer.ts'
import { deadLetter, type Failure, type RetryPolicy } from './attempts.ts'
import { type MetadataPersistenceOptions, metadataPersistenceSettings } from './options.ts'
import { storeOrBury } from './store-or-bury.ts'

/** Metadata of a run, encoded if it comes from another thread. */
export type MetadataItem = SimulationMetadata | Movable

/** Resources of a MetadataPersistenceService. */
export type MetadataPersistenceResources = {
  /** Queue of metadata. */
  readonly queue: DrainableQueue<MetadataItem>
  /** Storage of the file. */
  readonly storage: Storage
  /** Tidemark of the announcements. */
  readonly topics: Tidemark
  /** Topic of the announcements and its settings. */
  readonly announcing?: AnnouncingOptions
  /** Queue of dead letters. */
  readonly deadLetters: DeadLetterQueue
  /** Logger. */
  readonly logger: Logger
}

const METADATA_TYPE = 'tidemark.pipeline.v1.SimulationMetadata'
/** A drain ends at once when something arrives; this only limits the wait. */
const DRAIN_MS = 60_000

/** Stores the metadata of a run and announces it on the metadata topic. */
export class MetadataPersistenceService extends Service {
  readonly #resources: MetadataPersistenceResources
  readonly #retry: RetryPolicy
  readonly #announcer: Announcer
  #written = 0
  #deadLetters = 0

  constructor(name: string, resources: MetadataPersistenceResources, options: MetadataPersistenceOptions = {}) {
    super(name, resources.logger)
    const { retry, notifyRetry } = metadataPersistenceSettings(options)
    this.#resources = resources
    this.#retry = retry
    this.#announcer = new Announcer(resources.topics, METADATA_TOPIC, notifyRetry, resources.announcing)
  }

  protected override async run(context: ServiceContext): Promise<void> {
    const { signal } = context
    const { queue } = this.#resources
    while (!signal.aborted && !queue.isEnded) {
      await context.unpaused()
      for (const item of await queue.drain(1, { timeout: DRAIN_MS, signal })) await this.#persist(item, context)
    }
    for (let left = queue.metrics.items + queue.metrics.waitingPuts; left > 0; left--) {
      for (const item of await queue.drain(1, { timeout: 0 })) await this.#persist(item, context)
    }
  }

  protected override metrics(): Record<string, number> {
    const { items } = this.#resources.queue.metrics
    return {
      metadataWritten: this.#written,
      deadLetters: this.#deadLetters,
      ...this.#announcer.metrics,
      queueItems: items,
    }
  }

  async #persist(item: MetadataItem, context: ServiceContext): Promise<void> {
    const { storage } = this.#resources
    const storing = {
      what: `The metadata of ${'runId' in item ? `run ${item.runId}` : 'a run'}`,
      store: async () => await storage.writeMetadata('bytes' in item ? decodeMetadata(item.bytes) : item),
      bury: (failure: Failure) => this.#bury(item, failure),
    }
    const outcome = await storeOrBury(storing, this.#retry, context)
    if (!('value' in outcome)) return
    this.#written++
    await this.#announcer.announce(outcome.value.storageKey, metadataEnvelope(outcome.value), context)
  }

  async #bury(item: MetadataItem, failure: Failure): Promise<void> {
    await this.#resources.deadLetters.put([deadLetter(failure, this.name, METADATA_TYPE, bytesOf(item))])
    this.#deadLetters++
  }
}

/** Metadata that can't be encoded is kept as JSON for inspection. */
function bytesOf(item: MetadataItem): Uint8Array {
  if ('bytes' in item) return item.bytes
  try {
    return encodeMetadata(item)
  } catch {
    return Buffer.from(JSON.stringify(item))
  }
}
