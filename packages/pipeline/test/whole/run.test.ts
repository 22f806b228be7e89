import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { temporaryFolder } from '../../../../testing/folders.ts'
import { until } from '../../../../testing/until.ts'
// Inside: the environment of this process is that of all tests in it.
import { withOverrides } from '../../src/config/environment-overrides.ts'
import {
  defaultConfig,
  index,
  openRunIndex,
  type PipelineConfig,
  readDummyTotals,
  storageRead,
} from '../../src/index.ts'
import { runConfig } from '../services/pipelines.ts'
import {
  batchesCover,
  expectedRows,
  openRun,
  RUN_ID,
  SMALL_AND_FAST,
  simulationOfRun,
  simulationOption,
  tickRows,
} from './world.ts'

const LAST_TICK = 205

/** The default, with an indexer more that looks into the storage and writes an index of its own. */
function withArchive(folder: string): PipelineConfig {
  const environment = { ...SMALL_AND_FAST, ...simulationOption('RUN_ID', RUN_ID) }
  const config = defaultConfig({ dataFolder: folder, lastTick: LAST_TICK })
  const { resources, services } = withOverrides(config, environment) as PipelineConfig
  const archive = join(folder, 'archive')
  return {
    resources: { ...resources, indexes: { ...resources?.indexes, archive: { address: `sqlite:${archive}/index` } } },
    services: {
      'archive-metadata': {
        type: 'metadata-indexer',
        bindings: {
          metadata: { kind: 'topic-read', name: 'metadata-topic', consumerGroup: 'archive-metadata' },
          storage: storageRead('ticks'),
          index: index('archive'),
        },
      },
      'archive-dummy': {
        type: 'dummy-indexer',
        bindings: { storage: storageRead('ticks'), index: index('archive') },
        options: { source: 'storage', scanInterval: '50ms', flushTimeout: '100ms' },
      },
      ...services,
    },
  }
}

/** Every tick as the simulation makes it, through the indexes. */
async function assertReadable(address: string): Promise<void> {
  await using run = await openRunIndex(address, RUN_ID)
  const simulation = simulationOfRun()
  const everything = { tickStart: 0, tickEnd: LAST_TICK, ticks: LAST_TICK + 1 }
  for (const { range } of [run.environment, run.organisms, run.series].map(reader => ({ range: reader.range() }))) {
    assert.deepEqual(await range, everything)
  }
  const series = await run.series.read({ points: LAST_TICK + 1 })
  for (let tick = 0; tick <= LAST_TICK; tick++) {
    if (tick > 0) simulation.step()
    const { cells, organisms } = simulation.snapshot(RUN_ID)
    assert.deepEqual(await run.environment.cells(tick), cells)
    assert.deepEqual(await run.organisms.at(tick), organisms)
    assert.equal(series[tick]?.alive, simulation.alive)
  }
  const sum = (of: 'births' | 'deaths') => series.reduce((total, point) => total + point[of], 0)
  assert.deepEqual([sum('births'), sum('deaths')], [simulation.births, simulation.deaths])
  assert.deepEqual(await run.gaps(), [])
}

describe('the whole pipeline', () => {
  it('brings every tick of a run into the index, through the topic and through the storage', async () => {
    using folder = temporaryFolder()
    const pipeline = await runConfig(withArchive(folder.path))
    assert.deepEqual(pipeline.report.failed, [])
    const indexed = (service: string) => pipeline.services.statusOf(service).metrics.ticksIndexed ?? 0
    const indexers = ['dummy-indexer', 'environment-indexer', 'organism-indexer', 'series-indexer', 'archive-dummy']
    for (const service of indexers) {
      await until(() => indexed(service) > LAST_TICK, { what: `all ticks, by ${service}` })
    }
    await pipeline.stop()
    const { services } = pipeline.status()
    assert.deepEqual([...new Set(services.map(({ state }) => state))], ['STOPPED'])
    assert.deepEqual(
      services.flatMap(({ errors }) => errors),
      [],
    )

    await assertReadable(`sqlite:${join(folder.path, 'index')}`)
    const expected = expectedRows(LAST_TICK)
    for (const data of [folder.path, join(folder.path, 'archive')]) {
      await using database = await openRun(data)
      assert.deepEqual(await tickRows(database), expected)
      assert.deepEqual(await batchesCover(database), { from: 0, to: LAST_TICK, isWhole: true })
      assert.equal((await database.metadata.read())?.seed, 'whole')
      const { ticks, batches, cells } = await readDummyTotals(database)
      assert.equal(ticks, LAST_TICK + 1)
      assert.equal(batches, services.find(({ name }) => name === 'persistence')?.metrics.batchesWritten)
      assert.ok(batches >= (LAST_TICK + 1) / 20)
      assert.equal(
        cells,
        expected.reduce((sum, row) => sum + row.cells, 0),
      )
    }
  })
})
