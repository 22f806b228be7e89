/** A storage, topics and an index, with a producer that writes batches and announces them. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import {
  BATCH_TOPIC,
  BatchIndexer,
  type BatchIndexerOptions,
  type BatchSource,
  batchEnvelope,
  batchOf,
  configureNotificationTopic,
  contractsRegistry,
  type DummyTotals,
  dummyIndexer,
  encodeTick,
  FileSystemStorage,
  type IndexerDefinition,
  METADATA_TOPIC,
  metadataEnvelope,
  readDummyTotals,
  type SimulationMetadata,
  type StoredBatch,
  type Tick,
  topicOfRun,
  topicSource,
} from '@tidemark/pipeline'
import { type Logger, open, type Tidemark } from 'tidemark'
import { temporaryFolder } from '../../../../testing/databases.ts'
import { until } from '../../../../testing/until.ts'
import type { Engine, FreshIndex } from '../engines.ts'
import { range, ticksOf } from '../storage/ticks.ts'

export const SILENT: Logger = { debug() {}, info() {}, warn() {}, error() {} }
/** Of each tick that `ticksOf` makes. */
const CELLS_PER_TICK = 2

export type Watched = {
  readonly indexer: BatchIndexer
  /** First ticks of the batches that were acked, in that order. */
  readonly acked: number[]
  /** The ticks of each flush. */
  readonly flushes: number[][]
}

export type WorldOptions = {
  readonly lease?: string | number
  /** Of the run's metadata, other than what every run here has. */
  readonly metadata?: Partial<SimulationMetadata>
}

type IndexerSetup = Partial<BatchIndexerOptions> & { readonly definition?: IndexerDefinition }

export class World implements AsyncDisposable {
  readonly place: FreshIndex
  readonly runId: string
  readonly storage: FileSystemStorage
  readonly storageRoot: string
  readonly tidemark: Tidemark
  readonly topicsUrl: string
  readonly #metadata: Partial<SimulationMetadata>
  readonly #stack: AsyncDisposableStack

  static async on(engine: Engine, { lease = '5m', metadata = {} }: WorldOptions = {}): Promise<World> {
    const stack = new AsyncDisposableStack()
    const place = stack.use(await engine.fresh())
    const folder = stack.use(temporaryFolder())
    const topicsUrl = engine.name === 'PostgreSQL' ? place.address : `sqlite:${join(folder.path, 'topics.db')}`
    const tidemark = stack.use(
      await open(topicsUrl, { registry: contractsRegistry, logger: SILENT, sweepInterval: 20 }),
    )
    const backoff = { initial: 1, max: 5 }
    const { runId } = place
    const batches = { semantics: 'pub-sub', lease: lease as '5m', backoff } as const
    await tidemark.configureTopic(topicOfRun(BATCH_TOPIC, runId), batches)
    await tidemark.configureTopic(topicOfRun(METADATA_TOPIC, runId), { semantics: 'pub-sub', backoff })
    const storageRoot = join(folder.path, 'storage')
    const storage = await FileSystemStorage.open({ root: storageRoot })
    return new World(place, storage, storageRoot, tidemark, topicsUrl, metadata, stack)
  }

  private constructor(
    place: FreshIndex,
    storage: FileSystemStorage,
    storageRoot: string,
    tidemark: Tidemark,
    topicsUrl: string,
    metadata: Partial<SimulationMetadata>,
    stack: AsyncDisposableStack,
  ) {
    this.place = place
    this.runId = place.runId
    this.storage = storage
    this.storageRoot = storageRoot
    this.tidemark = tidemark
    this.topicsUrl = topicsUrl
    this.#metadata = metadata
    this.#stack = stack
  }

  get batchTopic(): string {
    return topicOfRun(BATCH_TOPIC, this.runId)
  }

  get metadataTopic(): string {
    return topicOfRun(METADATA_TOPIC, this.runId)
  }

  metadata(runId = this.runId): SimulationMetadata {
    return {
      runId,
      startedAt: 1_760_000_000_000,
      seed: '7',
      samplingInterval: 1,
      environment: { shape: [100, 100], topology: 'torus' },
      settings: '{}',
      moleculeTypes: ['code', 'data', 'energy'],
      ...this.#metadata,
    }
  }

  /** As the metadata indexer does. */
  async indexMetadata(): Promise<void> {
    const database = await this.place.open()
    await database.metadata.write(this.metadata())
    await database.close()
  }

  async announceMetadata(runId = this.runId): Promise<void> {
    const topic = topicOfRun(METADATA_TOPIC, runId)
    await configureNotificationTopic(this.tidemark, topic)
    await this.tidemark.publish(topic, metadataEnvelope(await this.storage.writeMetadata(this.metadata(runId))))
  }

  async write(start: number, count: number, runId = this.runId): Promise<StoredBatch> {
    return await this.storage.writeBatch(batchOf(ticksOf(range(start, count), { runId })))
  }

  /** A batch of these ticks, stored and announced. */
  async store(ticks: readonly Tick[]): Promise<StoredBatch> {
    const batch = await this.storage.writeBatch(batchOf(ticks.map(encodeTick)))
    await this.announce(batch)
    return batch
  }

  async announce(batch: StoredBatch): Promise<void> {
    const topic = topicOfRun(BATCH_TOPIC, batch.runId)
    if (batch.runId !== this.runId) await configureNotificationTopic(this.tidemark, topic)
    await this.tidemark.publish(topic, batchEnvelope(batch))
  }

  /** `count` batches of `size` ticks each, from tick `from`. */
  async produce(count: number, size: number, from = 0): Promise<void> {
    for (let index = 0; index < count; index++) await this.announce(await this.write(from + index * size, size))
  }

  /** Not started. Its flushes are of one size, unless time or bytes say otherwise. */
  indexer({ definition = dummyIndexer, ...options }: IndexerSetup = {}): Watched {
    const flushes: number[][] = []
    const acked: number[] = []
    const indexer = new BatchIndexer(
      {
        ...definition,
        async flush(ticks, tx, flush) {
          await definition.flush(ticks, tx, flush)
          flushes.push(ticks.map(({ tick }) => tick))
        },
      },
      {
        storage: this.storage,
        index: this.place.address,
        indexOptions: { durability: 'process' },
        runId: this.runId,
        source: topicSource(this.tidemark),
        logger: SILENT,
        flushTimeout: '1h',
        ...options,
      },
    )
    indexer.events.on('indexed', ({ tickStart }) => acked.push(tickStart))
    this.#stack.defer(() => indexer.stop())
    return { indexer, acked, flushes }
  }

  /** Started, and at work on the topic: what is announced from now on and before reaches it. */
  async started(setup: IndexerSetup = {}): Promise<Watched> {
    const watched = this.indexer(setup)
    await watched.indexer.start()
    return watched
  }

  /** Messages that the group has yet to ack. */
  async unacked(group = 'dummy'): Promise<number> {
    const { groups } = await this.tidemark.admin.describeTopic(this.batchTopic)
    const found = groups.find(each => each.group === group)
    return found === undefined ? -1 : found.backlog + found.inFlight + found.retries
  }

  async totals(): Promise<DummyTotals> {
    const database = await this.place.open()
    const totals = await readDummyTotals(database)
    await database.close()
    return totals
  }

  async assertIndexed({ batches, ticks }: { batches: number; ticks: number }): Promise<void> {
    assert.deepEqual(await this.totals(), { batches, ticks, cells: ticks * CELLS_PER_TICK, organisms: ticks })
  }

  /** Every row, to compare one index with another. */
  async rows(): Promise<unknown> {
    const database = await this.place.open()
    const table = (name: string, by: string) =>
      database.read(`select * from ${database.engine === 'postgres' ? 'run.' : ''}${name} order by ${by}`)
    const rows = [await table('dummy_tick', 'tick'), await table('dummy_batch', 'tick_start')]
    await database.close()
    return rows.map(each => each.map(row => ({ ...(row as object) })))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync()
  }
}

export async function metric({ indexer }: Watched, name: string, value: number): Promise<void> {
  await until(() => indexer.status().metrics[name] === value, {
    what: `${name} to be ${value}; it is ${indexer.status().metrics[name]}`,
  })
}

export const ackedAre = async ({ acked }: Watched, ...starts: number[]): Promise<void> => {
  await until(() => acked.length >= starts.length, { what: `acks of ${starts}` })
  assert.deepEqual(acked, starts)
}

/** As `topicSource`, but claims are extended often, so that a test sees it without waiting for a short lease to end. */
export function extendedOften(world: World): BatchSource {
  const source = topicSource(world.tidemark)
  return {
    ...source,
    async open(run) {
      const opened = await source.open(run)
      // The lease is five minutes.
      assert.ok(opened.extendEveryMs <= 100_000)
      return { extendEveryMs: 20, next: opened.next.bind(opened), close: opened.close.bind(opened) }
    },
  }
}

/** From now on, twice. */
export async function leaseIsExtended(world: World): Promise<void> {
  const expiry = async (): Promise<number> => {
    const { claims } = await world.tidemark.admin.claims(world.batchTopic)
    return Math.max(0, ...claims.map(({ expiresAt }) => Number(expiresAt)))
  }
  for (let time = 0; time < 2; time++) {
    const before = await expiry()
    await until(async () => (await expiry()) > before, { what: 'the lease to be extended' })
  }
}

/** Fails as long as `fails` says so of a tick in the flush. */
export function failing(fails: (tick: number) => boolean, more: Partial<IndexerDefinition> = {}): IndexerDefinition {
  return {
    ...dummyIndexer,
    ...more,
    async flush(ticks, tx, flush) {
      await dummyIndexer.flush(ticks, tx, flush)
      if (ticks.some(({ tick }) => fails(tick))) throw new Error('This tick is poison')
    },
  }
}
