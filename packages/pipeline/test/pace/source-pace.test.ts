import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Duration } from 'tidemark'
import { temporaryFolder } from '../../../../testing/folders.ts'
import { until } from '../../../../testing/until.ts'
// Inside: the environment of this process is that of all tests in it.
import { withOverrides } from '../../src/config/environment-overrides.ts'
import { checkConfig, defaultConfig, type Pipeline, type PipelineConfig, runPipeline } from '../../src/index.ts'
import { RUN_ID, SILENT, SMALL_AND_FAST, simulationOption } from '../whole/world.ts'

const MOST_WAITING = 3
/** A slow look would let the source run far ahead on a quick machine. */
const LOOK_MS = 20
/** At full speed it would take every processor until it is stopped. */
const TICKS_PER_SECOND = 500
const PATIENCE = { timeout: 120_000 }

type Limits = { readonly maxWaitingBatches: number; readonly maxWaitingTime: Duration }

async function run(folder: string, limits: Limits): Promise<Pipeline> {
  const environment = {
    ...SMALL_AND_FAST,
    ...simulationOption('RUN_ID', RUN_ID),
    ...simulationOption('TICKS_PER_SECOND', TICKS_PER_SECOND),
  }
  const config = withOverrides(defaultConfig({ dataFolder: folder, maxDisk: 'none' }), environment) as PipelineConfig
  const checked = checkConfig({ ...config, ...limits }, import.meta.dirname)
  return await runPipeline(checked, { logger: SILENT, diskLookMs: LOOK_MS })
}

const storedTicks = (pipeline: Pipeline): number => pipeline.services.statusOf('persistence').metrics.ticksWritten ?? 0

/** On a busy machine the simulation may be no faster than its indexers, so these begin with something to catch up on. */
async function fallBehind(pipeline: Pipeline, batches: number): Promise<void> {
  const names = (await pipeline.progress()).indexers.map(({ name }) => name)
  for (const name of names) await pipeline.services.pause(name)
  const waiting = async (): Promise<number> => (await pipeline.progress()).waitingBatches
  await until(async () => (await waiting()) > batches, { ...PATIENCE, what: 'batches to wait' })
  for (const name of names) await pipeline.services.resume(name)
}

describe('a source that is faster than its indexers', () => {
  it('is slowed for the one that is behind, and never stands still', async () => {
    using folder = temporaryFolder()
    await using pipeline = await run(folder.path, { maxWaitingBatches: MOST_WAITING, maxWaitingTime: 0 })
    await fallBehind(pipeline, 10 * MOST_WAITING)
    await until(async () => (await pipeline.progress()).slowedBy !== null, {
      ...PATIENCE,
      what: 'the source to be slowed',
    })
    const { slowedBy, indexers } = await pipeline.progress()
    if (slowedBy !== null)
      assert.ok(
        indexers.some(({ name }) => name === slowedBy),
        slowedBy,
      )
    const before = storedTicks(pipeline)
    await until(() => storedTicks(pipeline) > before + 20, { ...PATIENCE, what: 'more ticks to be stored' })
  })

  it('is slowed for one whose oldest batch has waited too long, however few there are', async () => {
    using folder = temporaryFolder()
    await using pipeline = await run(folder.path, { maxWaitingBatches: 1_000_000, maxWaitingTime: 1 })
    await fallBehind(pipeline, 3)
    await until(async () => (await pipeline.progress()).slowedBy !== null, {
      ...PATIENCE,
      what: 'the source to be slowed',
    })
  })

  it('is not slowed by an indexer that is paused', async () => {
    using folder = temporaryFolder()
    await using pipeline = await run(folder.path, { maxWaitingBatches: 1, maxWaitingTime: 1 })
    for (const { name } of (await pipeline.progress()).indexers) await pipeline.services.pause(name)
    await until(() => storedTicks(pipeline) > 0, { ...PATIENCE, what: 'the first batch' })
    const waiting = async (): Promise<number> => (await pipeline.progress()).waitingBatches
    await until(async () => (await waiting()) > 3, { ...PATIENCE, what: 'batches to wait for the paused indexers' })
    const before = storedTicks(pipeline)
    await until(
      async () => {
        assert.equal((await pipeline.progress()).slowedBy, null)
        return storedTicks(pipeline) > before + 500
      },
      { ...PATIENCE, what: 'more ticks to be stored' },
    )
  })

  it('is never slowed without limits', async () => {
    using folder = temporaryFolder()
    await using pipeline = await run(folder.path, { maxWaitingBatches: 0, maxWaitingTime: 0 })
    await until(() => storedTicks(pipeline) > 100, { ...PATIENCE, what: 'ticks to be stored' })
    assert.equal((await pipeline.progress()).slowedBy, null)
  })
})
