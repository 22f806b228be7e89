import assert from 'node:assert/strict'
import { readdirSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { temporaryFolder } from '../../../../testing/folders.ts'
import { until } from '../../../../testing/until.ts'
import {
  BoundedQueue,
  batchOf,
  decodeMetadata,
  decodeTick,
  type EncodedMetadata,
  type EncodedTick,
  FileSystemStorage,
  FolderInUseError,
  isRunId,
  makeRunId,
  SimulationService,
  type SimulationServiceOptions,
} from '../../src/index.ts'
import { SILENT } from './loggers.ts'

const RUN_ID = makeRunId()
const WORLD = { seed: 'one', shape: [12, 12], startedAt: 1_000 }

const newQueue = <T extends { bytes: Uint8Array }>(maxItems = 100_000) =>
  new BoundedQueue<T>({ maxItems, maxBytes: 2 ** 30, sizeOf: item => item.bytes.length })

type Given = Partial<Omit<SimulationServiceOptions, 'ticks' | 'metadata'>>

function serviceIn(folder: string, given: Given = {}, maxItems?: number) {
  const ticks = newQueue<EncodedTick>(maxItems)
  const metadata = newQueue<EncodedMetadata>()
  const options = { simulation: WORLD, stateFolder: join(folder, 'state'), runId: RUN_ID, ...given, ticks, metadata }
  return { ticks, metadata, service: new SimulationService('simulation', options, SILENT) }
}

const everything = async <T>(queue: BoundedQueue<T>): Promise<T[]> => await queue.drain(1_000_000, { timeout: 0 })

/** The ticks of an undisturbed run. */
async function wholeRun(folder: string, given: Given): Promise<EncodedTick[]> {
  const { service, ticks } = serviceIn(join(folder, 'whole'), given)
  await service.start()
  await service.ended()
  return await everything(ticks)
}

const numbersOf = (ticks: readonly EncodedTick[]): number[] => ticks.map(({ tick }) => tick)

describe('the simulation as a service', () => {
  it('puts the metadata first, then every sampled tick, and ends', async () => {
    using folder = temporaryFolder()
    const { service, ticks, metadata } = serviceIn(folder.path, { samplingInterval: 5, maxTicks: 20 })
    await service.start()
    await service.ended()
    assert.equal(service.state, 'STOPPED')
    const [described] = await everything(metadata)
    assert.ok(described)
    const { runId, samplingInterval, startedAt } = decodeMetadata(described.bytes)
    assert.deepEqual({ runId, samplingInterval, startedAt }, { runId: RUN_ID, samplingInterval: 5, startedAt: 1_000 })
    const made = await everything(ticks)
    assert.deepEqual(numbersOf(made), [0, 5, 10, 15, 20])
    assert.equal(decodeTick((made[4] as EncodedTick).bytes).capturedAt, 1_020)
    const { metrics } = service.status()
    assert.deepEqual([metrics.tick, metrics.ticks], [20, 5])
  })

  it('is healthy once its last state is saved, even if earlier saves failed', async () => {
    using folder = temporaryFolder()
    const { service } = serviceIn(folder.path, { saveInterval: 1, ticksPerSecond: 100 })
    await service.start()
    const states = join(folder.path, 'state', RUN_ID)
    await until(() => readdirSync(states).some(name => name.startsWith('state_')), { what: 'a state' })
    renameSync(states, `${states}.away`)
    writeFileSync(states, 'in the way')
    await until(() => service.status().errors.some(({ action }) => action === 'save state'), { what: 'the failure' })
    service.pause()
    await until(() => service.status().metrics.standsStill === 1, { what: 'it to stand still' })
    assert.equal(service.status().healthy, false)
    rmSync(states)
    renameSync(`${states}.away`, states)
    await service.stop()
    assert.deepEqual([service.state, service.status().healthy, service.status().errors], ['STOPPED', true, []])
  })

  it('creates a run id, and another for another run', async () => {
    using folder = temporaryFolder()
    const ids = new Set<string | undefined>()
    for (const _ of [1, 2]) {
      const { runId: _given, ...rest } = { runId: 1, maxTicks: 1, resume: false } as const
      const ticks = newQueue<EncodedTick>()
      const options = { simulation: WORLD, stateFolder: folder.path, ticks, ...rest }
      await using service = new SimulationService('simulation', options, SILENT)
      await service.start()
      await service.ended()
      ids.add(service.runId)
    }
    assert.equal(ids.size, 2)
    assert.ok([...ids].every(isRunId))
  })

  it("locks its run: another one can't continue it before it ends", async () => {
    using folder = temporaryFolder()
    const { service: first } = serviceIn(folder.path, { resume: 'newest' })
    const { service: second } = serviceIn(folder.path, { resume: 'newest' })
    const { service: other } = serviceIn(folder.path, { runId: makeRunId(), resume: false, maxTicks: 5 })
    await first.start()
    await assert.rejects(second.start(), FolderInUseError)
    await other.start()
    await other.ended()
    assert.deepEqual([first.state, second.state, other.state], ['RUNNING', 'ERROR', 'STOPPED'])
    await first.stop()
    await second.start()
    await second.stop()
    assert.equal(second.state, 'STOPPED')
  })

  it('stands still while it is paused, and can be stopped then', async () => {
    using folder = temporaryFolder()
    const { service } = serviceIn(folder.path)
    await service.start()
    await until(() => (service.status().metrics.tick ?? 0) > 5, { what: 'some ticks' })
    service.pause()
    assert.equal(service.state, 'PAUSED')
    await until(() => service.status().metrics.standsStill === 1, { what: 'it to stand still' })
    const seen = service.status().metrics.tick ?? 0
    // Time in which it could go on: another one makes as many ticks.
    await wholeRun(folder.path, { maxTicks: 20, resume: false })
    assert.equal(service.status().metrics.tick, seen)
    service.resume()
    await until(() => (service.status().metrics.tick ?? 0) > seen, { what: 'it to go on' })
    assert.equal(service.status().metrics.standsStill, 0)
    service.pause()
    await service.stop({ timeoutMs: 5_000 })
    assert.equal(service.state, 'STOPPED')
  })
})

describe('a run that was stopped', () => {
  for (const samplingInterval of [1, 3]) {
    it(`continues exactly, tick for tick, even if its queue was full (every ${samplingInterval})`, async () => {
      using folder = temporaryFolder()
      const given = { maxTicks: 90, samplingInterval, resume: 'newest' } as const
      const expected = await wholeRun(folder.path, given)
      const made: EncodedTick[] = []
      // A queue of so few that the stop finds it waiting for room; what it holds is drained after the stop.
      for (let starts = 0; made.at(-1)?.tick !== 90 && starts < 100; starts++) {
        const { service, ticks } = serviceIn(folder.path, given, 7)
        await service.start()
        await until(() => ticks.metrics.waitingPuts > 0 || service.state === 'STOPPED', {
          what: 'a full queue or the end',
        })
        await service.stop({ timeoutMs: 5_000 })
        assert.equal(service.state, 'STOPPED')
        made.push(...(await everything(ticks)))
      }
      assert.deepEqual(made, expected)
    })
  }

  it("can't continue with other settings, or begin again", async () => {
    using folder = temporaryFolder()
    const { service } = serviceIn(folder.path, { maxTicks: 3 })
    await service.start()
    await service.ended()
    const other = { ...WORLD, seed: 'another' }
    await assert.rejects(
      serviceIn(folder.path, { simulation: other, resume: RUN_ID }).service.start(),
      /can't continue with other settings: seed was "one"/,
    )
    await assert.rejects(serviceIn(folder.path, { samplingInterval: 2 }).service.start(), /samplingInterval was 1/)
    await assert.rejects(serviceIn(folder.path, { resume: false }).service.start(), /exists already. To continue it/)
    await assert.rejects(
      serviceIn(folder.path, { resume: makeRunId() }).service.start(),
      /There is no run .* to continue/,
    )
  })

  it('is found as the newest with the same settings; runs of other worlds are skipped', async () => {
    using folder = temporaryFolder()
    const older = makeRunId(Date.now() - 60_000)
    for (const given of [
      { runId: older, maxTicks: 3 },
      { runId: RUN_ID, maxTicks: 3, simulation: { ...WORLD, seed: 'another' } },
    ]) {
      const { service } = serviceIn(folder.path, given)
      await service.start()
      await service.ended()
    }
    const ticks = newQueue<EncodedTick>()
    const options = { simulation: WORLD, stateFolder: join(folder.path, 'state'), ticks, maxTicks: 5 }
    const service = new SimulationService('simulation', options, SILENT)
    await service.start()
    await service.ended()
    assert.equal(service.runId, older)
    assert.deepEqual(numbersOf(await everything(ticks)), [4, 5])
  })
})

describe('a run that was killed', () => {
  /** As after a kill: states were saved as it ran, and of its ticks only some had been stored. */
  async function killedRun(folder: string, stored: readonly [from: number, to: number][]) {
    const storage = await FileSystemStorage.open({ root: join(folder, 'storage') })
    const given = { maxTicks: 60, saveInterval: 0, storage } as const
    const { service, ticks } = serviceIn(folder, given)
    await service.start()
    await service.ended()
    const made = await everything(ticks)
    for (const [from, to] of stored) await storage.writeBatch(batchOf(made.slice(from, to + 1)))
    return { made, given }
  }

  const HOLES: readonly [what: string, stored: readonly [number, number][], missing: (tick: number) => boolean][] = [
    ['nothing', [], () => true],
    ['the beginning', [[0, 40]], tick => tick > 40],
    [
      'all but a hole',
      [
        [0, 20],
        [31, 60],
      ],
      tick => tick > 20 && tick < 31,
    ],
    ['all but the first', [[1, 60]], tick => tick === 0],
    ['everything', [[0, 60]], () => false],
  ]
  for (const [what, stored, isMissing] of HOLES) {
    it(`when ${what} was stored produces exactly the missing ticks`, async () => {
      using folder = temporaryFolder()
      const { made, given } = await killedRun(folder.path, stored)
      const again = serviceIn(folder.path, given)
      await again.service.start()
      await again.service.ended()
      assert.deepEqual(
        await everything(again.ticks),
        made.filter(({ tick }) => isMissing(tick)),
      )
      assert.equal((await everything(again.metadata)).length, 1, 'its metadata may not have been stored either')
    })
  }

  for (const [storedUpTo, passedOver] of [
    [58, 0],
    [57, 58],
  ] as const) {
    it(`at tick 59, with all up to ${storedUpTo} stored, skips ${passedOver} ticks and leaves none out`, async () => {
      using folder = temporaryFolder()
      const storage = await FileSystemStorage.open({ root: join(folder.path, 'storage') })
      const first = serviceIn(folder.path, { maxTicks: 59, saveInterval: '1h', storage })
      await first.service.start()
      await first.service.ended()
      const made = await everything(first.ticks)
      await storage.writeBatch(batchOf(made.slice(0, storedUpTo + 1)))
      const again = serviceIn(folder.path, { maxTicks: 59, storage })
      await again.service.start()
      await again.service.ended()
      assert.deepEqual(await everything(again.ticks), made.slice(storedUpTo + 1))
      assert.equal(again.service.status().metrics.passedOver, passedOver)
    })
  }

  it('continues from an earlier state if the newest is damaged, and from the start if there is none', async () => {
    using folder = temporaryFolder()
    const { made, given } = await killedRun(folder.path, [[0, 59]])
    const states = join(folder.path, 'state', RUN_ID)
    const files = readdirSync(states).filter(name => name.startsWith('state_'))
    assert.ok(files.length >= 1 && files.length <= 5, 'a few are kept')
    for (const file of files) truncateSync(join(states, file), 100)
    const damaged = serviceIn(folder.path, given)
    await damaged.service.start()
    await damaged.service.ended()
    assert.deepEqual(await everything(damaged.ticks), made.slice(60))
    for (const file of readdirSync(states)) if (file !== 'run.json') rmSync(join(states, file))
    const without = serviceIn(folder.path, given)
    await without.service.start()
    await without.service.ended()
    assert.deepEqual(await everything(without.ticks), made.slice(60))
  })
})
