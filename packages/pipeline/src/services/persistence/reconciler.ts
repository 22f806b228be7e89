import type { CodedError, Duration, Logger, Tidemark } from 'tidemark'
import { batchEnvelope, metadataEnvelope } from '../../contracts/notifications.ts'
import { parseDuration } from '../../duration.ts'
import { isEnvironmentFault } from '../../faults.ts'
import { refuseUnknown, wholeNumber } from '../../options.ts'
import { CorruptFileError, FileNotFoundError } from '../../storage/errors.ts'
import { metadataKey } from '../../storage/keys.ts'
import type { Storage } from '../../storage/storage.ts'
import { BATCH_TOPIC, METADATA_TOPIC, topicOfRun } from '../notification-topics.ts'
import { Service, type ServiceContext } from '../service.ts'
import { pauseFor } from '../until-aborted.ts'
import { AnnouncedKeys, folderOf } from './announced-keys.ts'
import { Announcer, type AnnouncingOptions } from './announcer.ts'
import { retryPolicy } from './attempts.ts'

/** Resources of a Reconciler. */
export type ReconcilerResources = {
  /** Storage to compare with the announcements. */
  readonly storage: Storage
  /** Tidemark of the announcements. */
  readonly topics: Tidemark
  /** Topics of the announcements and their settings. */
  readonly announcing?: { readonly batches?: AnnouncingOptions; readonly metadata?: AnnouncingOptions }
  /** Logger. */
  readonly logger: Logger
}

/** Options of a Reconciler. */
export type ReconcilerOptions = {
  /** Time between the end of a scan and the next one (default '1m'). */
  readonly interval?: Duration
  /** Keys per page of the storage listing (default 1000). */
  readonly pageSize?: number
}

/**
 * Announces files that were stored but never announced, because their service was killed in between or the topic did
 * not answer. It scans at start-up and periodically. Only complete files are announced; a corrupt file is
 * quarantined and reported. Announcing a file twice is harmless, because the topic accepts each key once.
 */
export class Reconciler extends Service {
  readonly #storage: Storage
  readonly #topics: Tidemark
  readonly #intervalMs: number
  readonly #pageSize: number
  readonly #batches: Channel
  readonly #metadata: Channel
  readonly #counts = { looks: 0, announced: 0, quarantined: 0, failures: 0 }

  constructor(name: string, resources: ReconcilerResources, options: ReconcilerOptions = {}) {
    const { storage, topics, announcing, logger } = resources
    super(name, logger)
    this.#topics = topics
    refuseUnknown(options, ['interval', 'pageSize'])
    this.#storage = storage
    const intervalMs = parseDuration('interval', options.interval ?? '1m', { min: 1 })
    this.#intervalMs = wholeNumber('interval', intervalMs, { min: 1, max: 2 ** 31 - 1 })
    this.#pageSize = wholeNumber('pageSize', options.pageSize ?? 1_000, { min: 1, max: 100_000 })
    this.#batches = channel(topics, BATCH_TOPIC, announcing?.batches)
    this.#metadata = channel(topics, METADATA_TOPIC, announcing?.metadata)
  }

  protected override async run(context: ServiceContext): Promise<void> {
    const { signal } = context
    while (!signal.aborted) {
      await context.unpaused()
      try {
        await context.through('look', () => this.#look(context))
      } catch (error) {
        // A stop, or something that may be different at the next scan.
        this.#fail('look', error, context)
      }
      await pauseFor(this.#intervalMs, signal)
    }
  }

  protected override metrics(): Record<string, number> {
    return this.#counts
  }

  async #look(context: ServiceContext): Promise<void> {
    const { failures } = this.#counts
    const runs = new Set<string>()
    for await (const runId of this.#runs()) {
      if (context.signal.aborted) return
      runs.add(runId)
      await this.#lookAtMetadata(runId, context)
      await this.#lookAtBatches(runId, context)
    }
    // A removed run may come back from a copy, with nothing announced.
    for (const { known } of [this.#batches, this.#metadata]) {
      for (const runId of known.keys()) if (!runs.has(runId)) known.delete(runId)
    }
    this.#counts.looks++
    if (this.#counts.failures > failures) return
    context.succeeded('announce')
    context.succeeded('quarantine')
  }

  async *#runs(): AsyncGenerator<string, void, undefined> {
    let after: string | null | undefined
    while (after !== null) {
      const page = await this.#storage.listRuns({ limit: this.#pageSize, ...(after !== undefined && { after }) })
      yield* page.items
      after = page.next
    }
  }

  async #lookAtBatches(runId: string, context: ServiceContext): Promise<void> {
    const known = this.#known(this.#batches, runId)
    const isTrimmed = (await this.#storage.removedRanges(runId)).length > 0
    for await (const { folder, keys, isLast } of this.#folders(runId)) {
      for (const key of await known.missingOf(folder, keys, isTrimmed)) {
        if (context.signal.aborted) return
        await this.#settle([key], context, async () => {
          await this.#announce(this.#batches, key, batchEnvelope(await this.#storage.describeBatch(key)))
          known.add(key)
        })
      }
      // New files appear in the last folder: if it were sealed, each would make the others be verified again.
      if (!isLast && keys.every(key => known.has(key))) known.seal(folder, keys)
    }
  }

  /** The listing is in tick order, so the files of a folder are consecutive. */
  async *#folders(runId: string): AsyncGenerator<Folder & { readonly isLast: boolean }, void, undefined> {
    let current: Folder | undefined
    let after: string | null | undefined
    while (after !== null) {
      const query = { prefix: `${runId}/`, limit: this.#pageSize, ...(after !== undefined && { after }) }
      const page = await this.#storage.listBatches(query)
      for (const { key } of page.items) {
        const folder = folderOf(key)
        if (current?.folder === folder) current.keys.push(key)
        else {
          if (current) yield { ...current, isLast: false }
          current = { folder, keys: [key] }
        }
      }
      after = page.next
    }
    if (current) yield { ...current, isLast: true }
  }

  async #lookAtMetadata(runId: string, context: ServiceContext): Promise<void> {
    const known = this.#known(this.#metadata, runId)
    const keys = [metadataKey(runId, 'zstd'), metadataKey(runId, 'none')]
    if (await known.hasAny(keys)) return
    await this.#settle(keys, context, async () => {
      const info = await this.#storage.describeMetadata(runId)
      if (info === null) return
      await this.#announce(this.#metadata, info.storageKey, metadataEnvelope(info))
      known.add(info.storageKey)
    })
  }

  async #announce({ announcer }: Channel, key: string, envelope: Parameters<Announcer['publish']>[1]) {
    if (!(await announcer.publish(key, envelope))) return
    this.#counts.announced++
    this.logger.warn({ service: this.name, key }, 'announced a file that had been stored and not announced')
  }

  #known({ announcer, known }: Channel, runId: string): AnnouncedKeys {
    const found = known.get(runId) ?? new AnnouncedKeys(this.#topics, topicOfRun(announcer.topic, runId))
    known.set(runId, found)
    return found
  }

  /** A failing file does not delay the others; it is retried at the next scan. */
  async #settle(keys: readonly string[], context: ServiceContext, work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      // Moved to quarantine by somebody else meanwhile.
      if (error instanceof FileNotFoundError) return
      // The whole scan is retried.
      if (isEnvironmentFault(error)) throw error
      this.#fail('announce', error, context, keys[0])
      if (error instanceof CorruptFileError) await this.#quarantine(keys, error, context)
    }
  }

  /** The first of the keys that exists: metadata has one of two. */
  async #quarantine(keys: readonly string[], error: CodedError, context: ServiceContext): Promise<void> {
    for (const key of keys) {
      try {
        await this.#storage.quarantine(key, `Found before the announcement: ${error.message}`)
        this.#counts.quarantined++
        return
      } catch (cause) {
        if (isEnvironmentFault(cause)) throw cause
        if (!(cause instanceof FileNotFoundError)) this.#fail('quarantine', cause, context, key)
      }
    }
  }

  #fail(operation: string, error: unknown, { report }: ServiceContext, about?: string): void {
    this.#counts.failures++
    report(operation, error, about)
  }
}

type Folder = { readonly folder: string; readonly keys: string[] }
type Channel = { readonly announcer: Announcer; readonly known: Map<string, AnnouncedKeys> }

const channel = (topics: Tidemark, topic: string, announcing: AnnouncingOptions | undefined): Channel => ({
  announcer: new Announcer(topics, topic, retryPolicy('retry'), announcing),
  known: new Map(),
})
