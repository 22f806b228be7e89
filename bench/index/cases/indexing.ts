import { once } from 'node:events'
import { constants, zstdCompressSync } from 'node:zlib'
import {
  BATCH_TOPIC,
  BatchIndexer,
  decodeRawTick,
  environmentIndexer,
  type IndexerDefinition,
  organismIndexer,
  type RawTick,
  seriesIndexer,
  topicOfRun,
  topicSource,
} from '@tidemark/pipeline'
import { figure, ratioAtLeast } from '../../figure.ts'
import { interleave, rateOf } from '../../interleave.ts'
import type { IndexCase } from '../bench-case.ts'
import type { IndexEngine } from '../engines/engine.ts'
import { FlushedIndex } from '../flushed-index.ts'
import { StoredWorld } from '../world.ts'

const BATCHES = 6
const BATCH = 1_000
const LEVEL_3 = { params: { [constants.ZSTD_c_compressionLevel]: 3 } }
const SILENT = { debug() {}, info() {}, warn() {}, error: console.error }

export const indexing: IndexCase = {
  name: 'indexing',
  about:
    'cells into the index, from memory and from announced batches, next to copying, compressing and inserting them',
  async run({ engine, rounds, size }) {
    const batch = size(BATCH)
    using world = await StoredWorld.of(BATCHES, batch)
    const ticks = await readTicks(world)
    const { medians, samples } = await interleave(rounds, {
      raw: () => insertAll(ticks, engine),
      flushed: () => flushAll(ticks, world, engine),
      indexed: () => indexAll(world, engine, environmentIndexer(), batch),
    })
    const megabytes = ((BATCHES * ticks.reduce((sum, { cells }) => sum + cells.length, 0)) / 1e6).toFixed(0)
    const raw = `raw: ${megabytes} MB of cells copied, zstd 3, inserted ${batch} rows a transaction`
    const common = { engine: engine.name, unit: '/s', raw: medians.raw } as const
    return [
      figure({
        case: `write the environment of ${BATCHES * batch} ticks`,
        ...common,
        target: ratioAtLeast(0.6),
        ours: medians.flushed,
        samples: { ours: samples.flushed, raw: samples.raw },
        note: `ticks in memory: zstd 3, upserted, counted; ${raw}`,
      }),
      figure({
        case: `index the environment of ${BATCHES * batch} ticks`,
        ...common,
        ours: medians.indexed,
        samples: { ours: samples.indexed, raw: samples.raw },
        note: 'ticks from announced batches: read, decompressed, verified, written as above, acked; raw: the same, which reads nothing',
      }),
    ]
  },
}

export const otherIndexes: IndexCase = {
  name: 'other-indexes',
  about: 'organisms and series of the same batches, each by its indexer',
  async run({ engine, rounds, size }) {
    const batch = size(BATCH)
    using world = await StoredWorld.of(BATCHES, batch)
    const { medians, samples } = await interleave(rounds, {
      organisms: () => indexAll(world, engine, organismIndexer(), batch),
      series: () => indexAll(world, engine, seriesIndexer, batch),
    })
    const common = { engine: engine.name, unit: '/s', note: 'ticks' } as const
    const ticks = BATCHES * batch
    return [
      figure({
        case: `index the organisms of ${ticks} ticks`,
        ...common,
        ours: medians.organisms,
        samples: { ours: samples.organisms },
      }),
      figure({
        case: `index the series of ${ticks} ticks`,
        ...common,
        ours: medians.series,
        samples: { ours: samples.series },
      }),
    ]
  },
}

/** Those of the first batch; each side writes them again and again under other numbers. */
async function readTicks({ storage, batches }: StoredWorld): Promise<RawTick[]> {
  const ticks: RawTick[] = []
  for await (const { bytes } of storage.readTicks(batches[0]?.storageKey ?? '')) ticks.push(decodeRawTick(bytes))
  return ticks
}

const numbered = (ticks: readonly RawTick[], batch: number): RawTick[] =>
  ticks.map(({ runId, tick, capturedAt, cells }) => {
    return { runId, tick: tick + batch * ticks.length, capturedAt, cells, organisms: [], organismCount: 0 }
  })

async function insertAll(ticks: readonly RawTick[], engine: IndexEngine): Promise<number> {
  await using table = await engine.rawTable()
  return await rateOf(BATCHES * ticks.length, async () => {
    for (let batch = 0; batch < BATCHES; batch++) {
      await table.insert(
        numbered(ticks, batch).map(({ tick, cells }) => ({ tick, data: zstdCompressSync(cells.slice(), LEVEL_3) })),
      )
    }
  })
}

async function flushAll(ticks: readonly RawTick[], world: StoredWorld, engine: IndexEngine): Promise<number> {
  await world.freshIndex(engine)
  await using index = await FlushedIndex.open(world, engine, environmentIndexer())
  return await rateOf(BATCHES * ticks.length, async () => {
    for (let batch = 0; batch < BATCHES; batch++) await index.flush(numbered(ticks, batch))
  })
}

let sample = 0

async function indexAll(
  world: StoredWorld,
  engine: IndexEngine,
  definition: IndexerDefinition,
  insertBatchSize: number,
): Promise<number> {
  const { storage, runId, batches } = world
  await world.freshIndex(engine)
  await using topics = await world.freshTopics(`topics-${sample++}`)
  const indexer = new BatchIndexer(definition, {
    storage,
    index: engine.address,
    runId,
    source: topicSource(topics),
    insertBatchSize,
    logger: SILENT,
  })
  await indexer.start()
  while ((await topics.admin.groups(topicOfRun(BATCH_TOPIC, runId)).catch(() => [])).length === 0)
    await new Promise(setImmediate)
  const rate = await rateOf(batches.length * insertBatchSize, async () => {
    await world.announce(topics)
    for (let left = batches.length; left > 0; left--) await once(indexer.events, 'indexed')
  })
  await indexer.stop()
  return rate
}
