import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import {
  checkConfig,
  index,
  loadEnvironmentStrategy,
  makeRunId,
  openRunIndex,
  type Pipeline,
  type PipelineConfig,
  runPipeline,
  type ServiceConfig,
  StrategyError,
  storageRead,
  type Tick,
  topicRead,
} from '@tidemark/pipeline'
import { until } from '../../../../testing/until.ts'
import { ENGINES } from '../engines.ts'
import { SILENT, World } from '../indexing/world.ts'
import { range } from '../storage/ticks.ts'
import { cellsAt, tickOf } from './ticks.ts'

const OWN = './strategies/row-per-cell.ts'
const PACKING = { compression: 'zstd', level: 3 } as const

type EnvironmentOptions = Extract<ServiceConfig, { readonly type: 'environment-indexer' }>['options']

/** One environment indexer, as a configuration file in this folder would have it. */
function configOf(world: World, runId: string, options: EnvironmentOptions): PipelineConfig {
  return {
    resources: {
      topics: { url: world.topicsUrl },
      storages: { ticks: { root: world.storageRoot } },
      indexes: { runs: { address: world.place.address, durability: 'process' } },
    },
    services: {
      environment: {
        type: 'environment-indexer',
        bindings: {
          batches: topicRead('batch-topic', { consumerGroup: 'environment' }),
          storage: storageRead('ticks'),
          index: index('runs'),
        },
        options: { runId, flushTimeout: '50ms', ...options },
      },
    },
  }
}

async function running(world: World, runId: string, options: EnvironmentOptions): Promise<Pipeline> {
  return await runPipeline(checkConfig(configOf(world, runId, options), import.meta.dirname), { logger: SILENT })
}

for (const engine of ENGINES) {
  describe(`a strategy chosen by the configuration, on ${engine.name}`, () => {
    it('may differ for each run: built-in, or from a file beside the configuration', async () => {
      await using world = await World.on(engine)
      const runs = [
        { runId: world.runId, options: { compression: 'none' } },
        { runId: makeRunId(), options: { strategy: OWN, strategyOptions: { table: 'place' } } },
      ] as const
      for (const { runId, options } of runs) {
        const database = await world.place.open({}, runId)
        await database.metadata.write(world.metadata(runId))
        await database.close()
        const ticks = range(0, 12).map(tick => tickOf(runId, tick, { cells: cellsAt(range(tick, tick % 5), tick) }))
        await world.store(ticks)
        await using pipeline = await running(world, runId, options)
        assert.deepEqual(pipeline.report.failed, [])
        await until(() => pipeline.services.statusOf('environment').metrics.batchesIndexed === 1, { what: 'the batch' })

        const { strategy = 'single-blob', strategyOptions = {} } = options as {
          strategy?: string
          strategyOptions?: object
        }
        const environmentStrategy = await loadEnvironmentStrategy(
          strategy,
          { ...PACKING, ...strategyOptions },
          import.meta.dirname,
        )
        await using run = await openRunIndex(world.place.address, runId, { environmentStrategy })
        for (const { tick, cells } of ticks) assert.deepEqual(await run.environment.cells(tick), cells)
        assert.equal(await run.environment.cells(12), null)
        assert.deepEqual(await run.environment.range(), { tickStart: 0, tickEnd: 11, ticks: 12 })
        const region = await run.environment.cells(4, { from: [5, 0], to: [6, 0] })
        assert.deepEqual(region?.flatIndex, Int32Array.of(5, 6))
      }
      // A reader without the strategy knows that there are ticks, and says what it needs to read them.
      await using other = await openRunIndex(world.place.address, runs[1].runId)
      assert.deepEqual(await other.environment.range(), { tickStart: 0, tickEnd: 11, ticks: 12 })
      await assert.rejects(other.environment.cells(3), {
        code: 'TIDEMARK_STRATEGY_MISSING',
        message: /Ticks 0 to 11 of run .* 'row-per-cell' with the settings \{"table":"place"\}/,
      })
      assert.equal(await other.environment.cells(12), null)
    })

    it('may change within a run, as may its settings: readers use the strategy that wrote each tick', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      const { runId } = world
      const place = { strategy: OWN, strategyOptions: { table: 'place' } }
      const square = { strategy: OWN, strategyOptions: { table: 'square' } }
      const all: Tick[] = []
      for (const options of [{}, place, square, { compression: 'none' }, place] as const) {
        const ticks = range(all.length, 5).map(tick => tickOf(runId, tick, { cells: cellsAt(range(tick, 3), tick) }))
        all.push(...ticks)
        await world.store(ticks)
        await using pipeline = await running(world, runId, options)
        await until(() => pipeline.services.statusOf('environment').metrics.batchesIndexed === 1, { what: 'the batch' })
      }
      const own = await Promise.all(
        [place, square].map(({ strategy, strategyOptions }) =>
          loadEnvironmentStrategy(strategy, { ...PACKING, ...strategyOptions }, import.meta.dirname),
        ),
      )
      await using run = await openRunIndex(world.place.address, runId, { environmentStrategy: own })
      for (const { tick, cells } of all) {
        assert.deepEqual(await run.environment.cells(tick), cells)
        assert.ok(await run.environment.packed(tick))
      }
      assert.deepEqual(await run.environment.range(), { tickStart: 0, tickEnd: 24, ticks: 25 })
      assert.equal(await run.environment.cells(25), null)
      await using half = await openRunIndex(world.place.address, runId, { environmentStrategy: own.slice(0, 1) })
      assert.deepEqual(await half.environment.cells(7), all[7]?.cells)
      await assert.rejects(half.environment.cells(12), /'row-per-cell' with the settings \{"table":"square"\}/)
    })
  })
}

describe('an invalid strategy', () => {
  const problems = [
    ['./strategies/nowhere.ts', /nowhere\.ts: it could not be loaded/],
    ['./strategies/half.ts', /half\.ts: its default export is not a strategy/],
  ] as const
  for (const [strategy, problem] of problems) {
    it(`fails its service with the reason: ${strategy}`, async () => {
      await using world = await World.on(ENGINES[0] ?? assert.fail())
      await using pipeline = await running(world, world.runId, { strategy })
      const [failed] = pipeline.report.failed
      assert.ok(failed?.error instanceof StrategyError)
      assert.match(failed.error.message, problem)
      assert.equal(pipeline.services.statusOf('environment').state, 'ERROR')
    })
  }

  it('is refused before anything starts if it is neither a built-in name nor a path', async () => {
    await using world = await World.on(ENGINES[0] ?? assert.fail())
    for (const [options, problem] of [
      [{ strategy: 'row-per-cell' }, /environment\.options\.strategy.*row-per-cell.*single-blob/],
      [{ strategyOptions: [] }, /environment\.options\.strategyOptions/],
      [{ compression: 'gzip' }, /environment\.options\.compression.*gzip/],
      [{ level: 20 }, /environment\.options\.level.*20/],
      [{ metricsWindow: '1ms' }, /environment\.options\.metricsWindow/],
    ] as const) {
      const config = configOf(world, world.runId, options as EnvironmentOptions)
      assert.throws(() => checkConfig(config, '.'), problem)
    }
    await assert.rejects(loadEnvironmentStrategy('rows', PACKING, '.'), /strategy.*rows/)
  })

  it('with options that the built-in one lacks is refused too', async () => {
    await assert.rejects(loadEnvironmentStrategy('single-blob', { ...PACKING, table: 'place' }, '.'), /table/)
    const own = await loadEnvironmentStrategy(join(import.meta.dirname, OWN), PACKING, '/elsewhere')
    assert.equal(own.name, 'row-per-cell')
  })
})
