import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { temporaryFolder } from '../../../../testing/folders.ts'
import { isLong, journeyOn } from '../../../../testing/long.ts'
import { until } from '../../../../testing/until.ts'
// Inside: the environment of this process is that of all tests in it.
import { withOverrides } from '../../src/config/environment-overrides.ts'
import {
  BatchRemovedError,
  checkConfig,
  defaultConfig,
  FileSystemStorage,
  openRunIndex,
  type Pipeline,
  type PipelineConfig,
  runPipeline,
  TickRemovedError,
} from '../../src/index.ts'
import { ENGINES } from '../engines.ts'
import { RUN_ID, SILENT, SMALL_AND_FAST, simulationOption } from '../whole/world.ts'

const KEEP = 100
const INDEXERS = ['dummy-indexer', 'environment-indexer', 'organism-indexer', 'series-indexer']

function configIn(folder: string, address: string, lastTick: number, more: object = {}): PipelineConfig {
  const environment = {
    ...SMALL_AND_FAST,
    ...simulationOption('RUN_ID', RUN_ID),
    TIDEMARK_PIPELINE__RESOURCES__INDEXES__RUNS__ADDRESS: address,
  }
  const config = defaultConfig({ dataFolder: folder, lastTick, keep: KEEP })
  return { ...(withOverrides(config, environment) as PipelineConfig), ...more }
}

const run = (config: PipelineConfig): Promise<Pipeline> =>
  runPipeline(checkConfig(config, import.meta.dirname), { logger: SILENT, diskLookMs: 50 })

const metricsOf = (pipeline: Pipeline, name: string) => pipeline.services.statusOf(name).metrics

async function isIndexedTo(pipeline: Pipeline, ticks: number): Promise<void> {
  await until(() => INDEXERS.every(name => (metricsOf(pipeline, name).ticksIndexed ?? 0) >= ticks), {
    what: `${ticks} ticks to be indexed`,
    timeout: 60_000,
  })
}

async function storedTicks(storage: FileSystemStorage): Promise<[first: number, last: number]> {
  const { items } = await storage.listBatches({ prefix: `${RUN_ID}/`, limit: 100_000 })
  return [items[0]?.tickStart ?? -1, items.at(-1)?.tickEnd ?? -1]
}

for (const { name, fresh } of ENGINES) {
  describe(`keep, with an index on ${name}`, () => {
    it('removes batches and their indexed data, and reports it to readers', async () => {
      using folder = temporaryFolder()
      await using database = await fresh()
      const storage = await FileSystemStorage.open({ root: join(folder.path, 'storage') })
      {
        await using pipeline = await run(configIn(folder.path, database.address, 400))
        await isIndexedTo(pipeline, 401)
        await using index = await openRunIndex(database.address, RUN_ID)
        const ranges = async () => await Promise.all([index.environment.range(), index.organisms.range()])
        await until(async () => (await ranges()).every(range => (range?.tickStart ?? 0) > 400 - KEEP - 40), {
          what: 'old ticks to go',
          timeout: 60_000,
        })
        const [first, last] = await storedTicks(storage)
        assert.ok(first > 400 - KEEP - 40 && first <= 400 - KEEP + 1 && last === 400, `${first} to ${last}`)
        assert.deepEqual(await storage.removedRanges(RUN_ID), [{ tickStart: 0, tickEnd: first - 1 }])
        // The indexers follow the storage, each in its own time.
        await until(async () => (await ranges()).every(range => range?.tickStart === first), {
          what: 'the indexes to follow',
          timeout: 60_000,
        })
        for (const range of await ranges()) {
          assert.deepEqual(range, { tickStart: first, tickEnd: 400, ticks: 401 - first })
        }
        await until(async () => ((await index.series.range())?.tickStart ?? 0) > first - 9, {
          what: 'the series to go',
        })
        assert.deepEqual(await index.gaps(), [])
        await assert.rejects(index.environment.cells(0), TickRemovedError)
        await assert.rejects(index.environment.packed(first - 1), /was removed, with all from 0 to/)
        await assert.rejects(index.organisms.at(0), TickRemovedError)
        assert.equal(await index.environment.cells(1_000), null)
        assert.ok(await index.environment.cells(first))
        const { disk, services } = await pipeline.look()
        assert.equal(disk.paused, false)
        assert.deepEqual(
          services.filter(({ healthy }) => !healthy),
          [],
        )
      }
      // It goes on where it was, and not from the beginning.
      await using again = await run(configIn(folder.path, database.address, 450))
      await isIndexedTo(again, 50)
      assert.equal(metricsOf(again, 'persistence').ticksWritten, 50)
      assert.equal(metricsOf(again, 'environment-indexer').openGaps, 0)
    })

    it('never removes what an indexer does not have, and holds nothing else back', async () => {
      using folder = temporaryFolder()
      await using database = await fresh()
      const storage = await FileSystemStorage.open({ root: join(folder.path, 'storage') })
      await using pipeline = await run(configIn(folder.path, database.address, 300))
      pipeline.services.pause('organism-indexer')
      await until(() => (metricsOf(pipeline, 'environment-indexer').ticksIndexed ?? 0) >= 301, { what: 'the others' })
      const looks = metricsOf(pipeline, 'retention').looks ?? 0
      await until(() => (metricsOf(pipeline, 'retention').looks ?? 0) > looks + 1, { what: 'two looks' })
      const indexed = metricsOf(pipeline, 'organism-indexer').ticksIndexed ?? 0
      assert.ok((await storedTicks(storage))[0] <= Math.max(0, indexed - KEEP + 1))
      pipeline.services.resume('organism-indexer')
      await until(async () => (await storedTicks(storage))[0] > 300 - KEEP - 40, { what: 'old batches to go' })
    })
  })
}

describe('removed batches', () => {
  it('is reported by the storage, can be stored again, and is not a gap for a later indexer', async () => {
    using folder = temporaryFolder()
    const address = `sqlite:${join(folder.path, 'index')}`
    const storage = await FileSystemStorage.open({ root: join(folder.path, 'storage') })
    const keys: string[] = []
    {
      await using pipeline = await run(configIn(folder.path, address, 300, { keep: 'forever' }))
      await isIndexedTo(pipeline, 301)
      keys.push(...(await storage.listBatches({ prefix: `${RUN_ID}/` })).items.map(({ key }) => key))
    }
    const config = configIn(folder.path, address, 340)
    {
      await using pipeline = await run(config)
      await until(async () => (await storedTicks(storage))[0] > 340 - KEEP - 40, { what: 'old batches to go' })
      await isIndexedTo(pipeline, 40)
    }
    await assert.rejects(storage.readBatch(keys[0] ?? ''), BatchRemovedError)
    await assert.rejects(storage.describeBatch(keys[0] ?? ''), /was removed: this run keeps only newer ticks/)
    const late = (source: 'topic' | 'storage') => {
      const { bindings } = config.services['dummy-indexer'] ?? {}
      return { ...bindings, ...(source === 'topic' && { batches: { ...bindings?.batches, consumerGroup: 'late' } }) }
    }
    const services = {
      ...config.services,
      late: { type: 'dummy-indexer', bindings: late('topic'), options: { firstTick: 0, flushTimeout: '100ms' } },
      archive: {
        type: 'dummy-indexer',
        bindings: late('storage'),
        options: { source: 'storage', firstTick: 0, flushTimeout: '100ms', scanInterval: '50ms' },
      },
    } as PipelineConfig['services']
    await using pipeline = await run({ ...config, services })
    const [first] = await storedTicks(storage)
    for (const name of ['late', 'archive']) {
      await until(() => (metricsOf(pipeline, name).ticksIndexed ?? 0) >= 341 - first, { what: `${name} to have all` })
      assert.deepEqual([metricsOf(pipeline, name).openGaps, metricsOf(pipeline, name).batchesFailed], [0, 0])
    }
    assert.equal(metricsOf(pipeline, 'reconciler').announced, 0)
  })
})

for (const { name, fresh } of ENGINES.filter(each => journeyOn('SQLite')(each.name))) {
  describe(`a budget with keep, with an index on ${name}`, () => {
    for (const keep of [200, 'fits'] as const) {
      it(`of ${keep} lets a run continue forever: removed batches make room for new ones`, () => continues(keep))
    }

    async function continues(keep: 200 | 'fits'): Promise<void> {
      using folder = temporaryFolder()
      await using database = await fresh()
      const larger = {
        ...simulationOption('SHAPE', '[64,64]'),
        TIDEMARK_PIPELINE__SERVICES__PERSISTENCE__MAX_BATCH_SIZE: '100',
      }
      const config = configIn(folder.path, database.address, 1_000_000, { maxDisk: '14MB', keep })
      await using pipeline = await run(withOverrides(config, larger) as PipelineConfig)
      // A twentieth of the run at a time.
      const enough = keep === 'fits' && !isLong ? 300_000 : 2_000_000
      const isPast = () => (metricsOf(pipeline, 'retention').bytesRemoved ?? 0) > enough
      await until(isPast, { what: 'old batches to be removed', timeout: 120_000 })
      // Removing rows grows the logs for a moment.
      await until(async () => (await pipeline.look()).disk.bytes < 14_000_000, { what: 'the run to fit its budget' })
      const { tick } = metricsOf(pipeline, 'simulation')
      await until(() => (metricsOf(pipeline, 'simulation').tick ?? 0) > (tick ?? 0) + 100, { what: 'more ticks' })
      assert.equal(keep === 'fits' ? pipeline.status().disk.secondsLeft || null : null, null, 'it will not be full')
    }
  })
}
