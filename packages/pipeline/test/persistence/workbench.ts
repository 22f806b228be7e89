/** A storage, topics, dead letters and a queue in a folder of their own, and services between them. */
import { join } from 'node:path'
import { type Logger, type OpenOptions, open, type Tidemark } from 'tidemark'
import { type TemporaryFolder, temporaryFolder } from '../../../../testing/folders.ts'
import { until } from '../../../../testing/until.ts'
// Inside: the announcement as it travels, of which the public API gives only the content.
import type { TopicEnvelope } from '../../src/contracts/gen/tidemark/pipeline/v1/notification_pb.ts'
import {
  BATCH_TOPIC,
  type BatchInfo,
  BoundedQueue,
  batchInfoOf,
  contractsRegistry,
  DeadLetterQueue,
  type EncodedTick,
  FileSystemStorage,
  METADATA_TOPIC,
  type MetadataInfo,
  type MetadataItem,
  MetadataPersistenceService,
  metadataInfoOf,
  type PersistenceOptions,
  type PersistenceResources,
  PersistenceService,
  Reconciler,
  type ReconcilerOptions,
  type RetryOptions,
  type Service,
  type Storage,
} from '../../src/index.ts'
import { RUN_ID } from '../arbitraries.ts'

export const SILENT: Logger = { debug() {}, info() {}, warn() {}, error() {} }
/** Retries that take no time worth speaking of. */
export const QUICK = { maxRetries: 2, initialBackoff: '1ms', maxBackoff: '5ms' } as const
const COMMON: OpenOptions = { registry: contractsRegistry, logger: SILENT, sweepInterval: '20ms' }
const FAST: PersistenceOptions = { batchTimeout: '60s', retry: QUICK, notifyRetry: QUICK }

export class Workbench implements AsyncDisposable {
  readonly folder: TemporaryFolder
  readonly storage: FileSystemStorage
  readonly topics: Tidemark
  readonly deadLetters: DeadLetterQueue
  readonly queue = new BoundedQueue<EncodedTick>({
    maxItems: 10_000,
    maxBytes: 64e6,
    sizeOf: tick => tick.bytes.length,
  })
  readonly metadataQueue = new BoundedQueue<MetadataItem>({ maxItems: 10, maxBytes: 1e6, sizeOf: () => 1 })
  readonly #services = new Set<Service>()

  static async open(options: OpenOptions = {}): Promise<Workbench> {
    const folder = temporaryFolder()
    return await Workbench.at(folder, options)
  }

  /** In a folder that another one, or a process that was killed, has left. */
  static async at(folder: TemporaryFolder, options: OpenOptions = {}, url?: string): Promise<Workbench> {
    const storage = await FileSystemStorage.open({ root: join(folder.path, 'storage') })
    const topics =
      url === undefined ? await openTopics(folder.path, options) : await open(url, { ...COMMON, ...options })
    return new Workbench(folder, storage, topics, await DeadLetterQueue.open(topics))
  }

  private constructor(
    folder: TemporaryFolder,
    storage: FileSystemStorage,
    topics: Tidemark,
    deadLetters: DeadLetterQueue,
  ) {
    this.folder = folder
    this.storage = storage
    this.topics = topics
    this.deadLetters = deadLetters
  }

  persistence(
    options: PersistenceOptions = {},
    resources: Partial<PersistenceResources> = {},
    name = 'persistence',
  ): PersistenceService {
    const { queue, storage, topics, deadLetters } = this
    const all = { queue, storage, topics, deadLetters, logger: SILENT, ...resources }
    return this.#own(new PersistenceService(name, all, { ...FAST, ...options }))
  }

  metadataPersistence(retry: RetryOptions = QUICK): MetadataPersistenceService {
    const { metadataQueue: queue, storage, topics, deadLetters } = this
    const resources = { queue, storage, topics, deadLetters, logger: SILENT }
    return this.#own(new MetadataPersistenceService('metadata', resources, { retry, notifyRetry: QUICK }))
  }

  reconciler(options: ReconcilerOptions = { interval: '20ms' }, storage: Storage = this.storage): Reconciler {
    const { topics } = this
    return this.#own(new Reconciler('reconciler', { storage, topics, logger: SILENT }, options))
  }

  async put(ticks: readonly EncodedTick[]): Promise<void> {
    for (const tick of ticks) await this.queue.put(tick)
  }

  /** First and last tick of every stored batch, in their order. */
  async ranges(runId = RUN_ID): Promise<[number, number][]> {
    const { items } = await this.storage.listBatches({ prefix: `${runId}/`, limit: 100_000 })
    return items.map(({ tickStart, tickEnd }) => [tickStart, tickEnd])
  }

  async ticks(runId = RUN_ID): Promise<number[]> {
    const { items } = await this.storage.listBatches({ prefix: `${runId}/`, limit: 100_000 })
    const batches = await Promise.all(items.map(({ key }) => this.storage.readBatch(key)))
    return batches.flat().map(({ tick }) => tick)
  }

  /** Everything that the runs' batch topics have ever delivered to a group. */
  async announced(): Promise<BatchInfo[]> {
    return (await messagesOf(this.topics, BATCH_TOPIC)).map(batchInfoOf)
  }

  async announcedMetadata(): Promise<MetadataInfo[]> {
    return (await messagesOf(this.topics, METADATA_TOPIC)).map(metadataInfoOf)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const service of this.#services) await service.stop()
    await this.topics.close()
    this.folder[Symbol.dispose]()
  }

  #own<S extends Service>(service: S): S {
    this.#services.add(service)
    return service
  }
}

export async function openTopics(folder: string, options: OpenOptions = {}): Promise<Tidemark> {
  const file = join(folder, 'topics.db')
  return await open(`sqlite:${file}`, { ...COMMON, durability: 'process', ...options })
}

/** The same storage, but for some of its methods. */
export function withMethods(storage: Storage, methods: Partial<Storage>): Storage {
  return new Proxy(storage, {
    get: (target, name) => Reflect.get(methods, name) ?? Reflect.get(target, name).bind(target),
  })
}

export async function metric(service: Service, name: string, least: number): Promise<void> {
  await until(() => (service.status().metrics[name] ?? 0) >= least, { what: `${name} of ${least}` })
}

let groups = 0

/** Of all runs, each in its order. */
async function messagesOf(topics: Tidemark, topic: string): Promise<TopicEnvelope[]> {
  const messages: TopicEnvelope[] = []
  for (const { topic: name } of await topics.admin.topics()) {
    if (!name.startsWith(`${topic}.`)) continue
    await using reader = topics.reader<TopicEnvelope>(name, {
      group: `test-${++groups}`,
      from: 'beginning',
      batchSize: 500,
    })
    for (let next = await reader.poll(0); next !== null; next = await reader.poll(0)) messages.push(next.payload)
  }
  return messages
}
