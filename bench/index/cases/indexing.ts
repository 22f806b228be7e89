import { once } from 'node:events'
import { constants, zstdCompressSync } from 'node:zlib'
import {
  BatchIndexer,
  decodeRawTick,
  environmentIndexer,
  type IndexerDefinition,
  organismIndexer,
  type RawTick,
  seriesIndexer,
  topicSource,
} from '@tidemark/pipeline'
import { figure, ratioAtLeast } from '../../figure.ts'
import { interleave, rateOf } from '../../interleave.ts'
import type { IndexCase } from '../bench-case.ts'
import type { IndexEngine } from '../engines/engine.ts'
import { StoredWorld } from '../world.ts'

const BATCHES = 3
const BATCH = 1_000
const LEVEL_3 = { params: { [constants.ZSTD_c_compressionLevel]: 3 } }
const SILENT = { debug() {}, info() {}, warn() {}, error: console.error }

export const indexing: IndexCase = {
  name: 'indexing',
  about: 'cells from the announcement of their batches to the ack, next to copying, compressing and inserting them',
  async run({ engine, rounds, size }) {
    const batch = size(BATCH)
    using world = await StoredWorld.of(BATCHES, batch)
    const ticks = await readAll(world)
    const { medians, samples } = await interleave(rounds, {
      raw: () => insertAll(ticks, engine, batch),
      ours: () => indexAll(world, engine, environmentIndexer(), batch),
    })
    const megabytes = (ticks.reduce((sum, { cells }) => sum + cells.length, 0) / 1e6).toFixed(0)
    return [
      figure({
        case: `index the environment of ${ticks.length} ticks`,
        engine: engine.name,
        unit: '/s',
        ...medians,
        samples,
        target: ratioAtLeast(0.6),
        note:
          'ticks: announced, read, verified, zstd 3, upserted, acked; ' +
          `raw: ${megabytes} MB of cells copied, zstd 3, inserted ${batch} rows a transaction`,
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

async function readAll({ storage, batches }: StoredWorld): Promise<RawTick[]> {
  const ticks: RawTick[] = []
  for (const { storageKey } of batches) {
    for await (const { bytes } of storage.readTicks(storageKey)) ticks.push(decodeRawTick(bytes))
  }
  return ticks
}

async function insertAll(ticks: readonly RawTick[], engine: IndexEngine, rows: number): Promise<number> {
  await using table = await engine.rawTable()
  return await rateOf(ticks.length, async () => {
    for (let at = 0; at < ticks.length; at += rows) {
      const part = ticks.slice(at, at + rows)
      await table.insert(part.map(({ tick, cells }) => ({ tick, data: zstdCompressSync(cells.slice(), LEVEL_3) })))
    }
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
  while ((await topics.admin.groups('batch-topic').catch(() => [])).length === 0) await new Promise(setImmediate)
  const rate = await rateOf(batches.length * insertBatchSize, async () => {
    await world.announce(topics)
    for (let left = batches.length; left > 0; left--) await once(indexer.events, 'indexed')
  })
  await indexer.stop()
  return rate
}
