import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { ConfigError } from 'tidemark'
import { migratedDatabase } from '../../../../testing/databases.ts'
import { temporaryFolder } from '../../../../testing/folders.ts'
import { until } from '../../../../testing/until.ts'
// Inside: the environment of this process is that of all tests in it.
import { withOverrides } from '../../src/config/environment-overrides.ts'
// Inside: a disk with nothing left can’t be had by the test.
import { Allowance } from '../../src/disk/allowance.ts'
import { isEnough, type Room, roomIn } from '../../src/disk/room.ts'
import {
  checkConfig,
  DiskFullError,
  defaultConfig,
  type EncodedTick,
  type Pipeline,
  type PipelineConfig,
  runPipeline,
} from '../../src/index.ts'
import { RUN_ID, SILENT, SMALL_AND_FAST, simulationOption } from '../whole/world.ts'

const BUDGET = 12_000_000

function configIn(folder: string, maxDisk: number | 'none', more: object = {}): PipelineConfig {
  const environment = {
    ...SMALL_AND_FAST,
    ...simulationOption('RUN_ID', RUN_ID),
    ...simulationOption('SHAPE', '[64,64]'),
    TIDEMARK_PIPELINE__SERVICES__PERSISTENCE__MAX_BATCH_SIZE: '200',
  }
  return {
    ...(withOverrides(defaultConfig({ dataFolder: folder, maxDisk, keep: 'forever' }), environment) as PipelineConfig),
    ...more,
  }
}

const run = (config: PipelineConfig): Promise<Pipeline> =>
  runPipeline(checkConfig(config, import.meta.dirname), { logger: SILENT, diskLookMs: 20 })

const sim = (pipeline: Pipeline) => pipeline.services.statusOf('simulation')

const isPaused = (pipeline: Pipeline): Promise<true> =>
  until(() => sim(pipeline).state === 'WAITING' && pipeline.status().disk.paused, {
    what: 'the source to wait for room',
    timeout: 60_000,
  })

/** Paused, and with nothing on its way any more. */
async function isSettled(pipeline: Pipeline): Promise<void> {
  await isPaused(pipeline)
  const total = () => {
    const { storedTicks, indexed } = countsOf(pipeline)
    return pipeline.queued() === 0 && indexed.every(ticks => ticks >= storedTicks)
  }
  await until(() => total() && pipeline.status().disk.paused, { what: 'all to be indexed', timeout: 60_000 })
}

function countsOf(pipeline: Pipeline): { storedTicks: number; indexed: number[] } {
  const metrics = (name: string) => pipeline.services.statusOf(name).metrics
  const indexers = ['environment-indexer', 'organism-indexer', 'series-indexer', 'dummy-indexer']
  return {
    storedTicks: metrics('persistence').ticksWritten ?? 0,
    indexed: indexers.map(name => metrics(name).ticksIndexed ?? 0),
  }
}

async function bytesIn(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const sizes = await Promise.all(
    entries.filter(entry => entry.isFile()).map(entry => stat(join(entry.parentPath, entry.name)).catch(() => null)),
  )
  return sizes.reduce((sum, found) => sum + (found?.size ?? 0), 0)
}

describe('a disk budget', () => {
  it('pauses the source before it is exceeded, with the reason and advice, and keeps everything stored', async () => {
    using folder = temporaryFolder()
    await using pipeline = await run(configIn(folder.path, BUDGET))
    let most = 0
    await until(
      async () => {
        most = Math.max(most, await bytesIn(folder.path))
        return pipeline.status().disk.paused
      },
      { what: 'the pause', timeout: 60_000 },
    )
    await isSettled(pipeline)
    most = Math.max(most, await bytesIn(folder.path))
    assert.ok(most <= BUDGET, `${most} bytes`)
    assert.ok(most > BUDGET / 2, `${most} bytes: paused far too early`)
    const { disk, healthy } = await pipeline.look()
    assert.equal(healthy, false)
    assert.ok(Math.abs(disk.bytes - (await bytesIn(folder.path))) < 200_000, `${disk.bytes}`)
    assert.deepEqual(disk.parts.map(({ kind }) => kind).sort(), ['index', 'states', 'storage', 'topics'])
    assert.match(disk.reason ?? '', /disk budget of 12\.0 MB: .* are used\. .*--max-disk.*--keep/s)
    assert.equal(disk.secondsLeft, 0)
    assert.match(sim(pipeline).waitingFor ?? '', /disk budget/)
  })

  it('lets the source resume by itself when files were removed by hand, and delays a new start that exceeds it', async () => {
    using folder = temporaryFolder()
    {
      await using first = await run(configIn(folder.path, 'none'))
      await until(async () => (await bytesIn(folder.path)) > BUDGET / 2, { what: 'some data', timeout: 60_000 })
      assert.equal(first.status().disk.paused, false)
    }
    await using pipeline = await run(configIn(folder.path, 2_000_000))
    await isPaused(pipeline)
    const { tick } = sim(pipeline).metrics
    rmSync(join(folder.path, 'storage', RUN_ID, 'raw', '000'), { recursive: true })
    rmSync(join(folder.path, 'index'), { recursive: true })
    await until(() => !pipeline.status().disk.paused, { what: 'room', timeout: 60_000 })
    await until(() => (sim(pipeline).metrics.tick ?? 0) > (tick ?? 0), { what: 'the next tick' })
  })

  it('is another pause than the one a person asks for', async () => {
    using folder = temporaryFolder()
    await using pipeline = await run(configIn(folder.path, 1_000_000))
    await isPaused(pipeline)
    pipeline.services.pause('simulation')
    assert.equal(sim(pipeline).state, 'PAUSED')
    assert.match(sim(pipeline).waitingFor ?? '', /disk budget/)
    pipeline.services.resume('simulation')
    assert.equal(sim(pipeline).state, 'WAITING')
    const started = performance.now()
    await pipeline.services.stop('simulation')
    assert.equal(sim(pipeline).state, 'STOPPED')
    assert.equal(sim(pipeline).waitingFor, null)
    assert.ok(performance.now() - started < 20_000)
  })

  it('refuses ticks from outside at once, and accepts them when there is space', async () => {
    using folder = temporaryFolder()
    const config = configIn(folder.path, 1_000_000)
    await using pipeline = await run({
      ...config,
      services: Object.fromEntries(Object.entries(config.services).filter(([name]) => name !== 'simulation')),
    })
    const outlet = pipeline.guardedOutlet<EncodedTick>('ticks')
    const tick = { runId: RUN_ID, tick: 0, bytes: new Uint8Array(900_000) }
    // More than fits at once: it waits for the next look, which says that there is no room for it.
    await assert.rejects(outlet.put(tick), DiskFullError)
    await assert.rejects(outlet.put(tick), /disk budget of 1\.0 MB/)
  })

  it('is a size or none', () => {
    for (const maxDisk of [0, -1, '0GB', '2 potatoes', 'nothing', 1.5, true, '999kB']) {
      assert.throws(
        () => checkConfig({ ...defaultConfig(), maxDisk: maxDisk as string }, '.'),
        (error: unknown) => error instanceof ConfigError && /'none'/.test(error.message),
        String(maxDisk),
      )
    }
    for (const maxDisk of ['none', '1.5GiB', '2 GB', 5_000_000]) checkConfig({ ...defaultConfig(), maxDisk }, '.')
  })
})

describe('the size', () => {
  it('of topics on PostgreSQL is asked from the server', async () => {
    using folder = temporaryFolder()
    await using place = await migratedDatabase()
    const config = configIn(folder.path, 'none')
    const { topics: _, ...others } = config.resources ?? {}
    await using pipeline = await run({ ...config, resources: { ...others, topics: { url: place.url } } })
    const part = () => pipeline.status().disk.parts.find(({ kind }) => kind === 'topics')
    await until(() => (part()?.bytes ?? 0) > 100_000, { what: 'the size of the schema' })
  })

  it('is not limited without a budget and a minimum of free space', () => {
    const measured = { bytes: 5e9, pendingBytes: 0, freeBytes: 0 }
    assert.equal(roomIn(measured, { maxBytes: null, minFreeBytes: 0 }).bytes, Number.POSITIVE_INFINITY)
    assert.ok(roomIn(measured, { maxBytes: null, minFreeBytes: 1 }).bytes < 0)
  })

  it('counts what is on its way, also against the free space', () => {
    const measured = { bytes: 10e6, pendingBytes: 5e6, freeBytes: 100e6 }
    assert.equal(roomIn(measured, { maxBytes: 1e9, minFreeBytes: 0 }).bytes, 921e6)
    const free = roomIn(measured, { maxBytes: 1e9, minFreeBytes: 50e6 })
    assert.deepEqual([free.bytes, free.by], [45e6, 'free space'])
  })

  it('resumes only when there is room for a while', () => {
    const limits = { maxBytes: 1e9, minFreeBytes: 0 }
    const enough = (bytes: number, isPaused: boolean) => isEnough({ bytes, by: 'budget' } as Room, limits, isPaused)
    assert.deepEqual(
      [10e6, 20e6, 70e6].flatMap(bytes => [enough(bytes, false), enough(bytes, true)]),
      [false, false, true, false, true, true],
    )
  })

  it('lets in no more bytes and items than are allowed, and tells when there are more', () => {
    const allowance = new Allowance()
    let raised = 0
    allowance.onRaised(() => raised++)
    allowance.set(100)
    allowance.setItems(2)
    assert.deepEqual([allowance.has(100), allowance.has(101), raised], [true, false, 0])
    allowance.take(10)
    allowance.take(10)
    assert.equal(allowance.has(1), false)
    allowance.setItems(1)
    assert.deepEqual([allowance.has(80), allowance.has(81), raised], [true, false, 1])
    allowance.set(90)
    assert.deepEqual([allowance.has(81), raised], [true, 2])
  })
})

describe('too little free space', () => {
  it('pauses the source too', async () => {
    using folder = temporaryFolder()
    await using pipeline = await run(configIn(folder.path, 'none', { minFreeDisk: '900TB' }))
    await isPaused(pipeline)
    assert.match(sim(pipeline).waitingFor ?? '', /free disk space: .* are left, and 900\.00 TB must stay free/)
    assert.equal(countsOf(pipeline).storedTicks, 0)
  })
})
