import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  type EnvironmentStrategy,
  encodeCells,
  environmentIndexer,
  IndexDatabaseError,
  openRunIndex,
  type RunIndex,
  singleBlob,
  type Tick,
} from '@tidemark/pipeline'
import { until } from '../../../../testing/until.ts'
// Inside: the bytes as they are stored, which every public reader unpacks.
import { readPacked } from '../../src/databases/packed-ticks.ts'
import { pack, unpack } from '../../src/databases/packing.ts'
import { ENGINES } from '../engines.ts'
import { metric, World } from '../indexing/world.ts'
import { range } from '../storage/ticks.ts'
import { cellsAt, flushRaw, metadataOf, NO_CELLS, prepareIndex, tickOf } from './ticks.ts'

/** Ticks of a 100 × 100 world with this number of cells, different ones in each tick. */
const ticksWith = (world: World, numbers: readonly number[], cells: number): Tick[] =>
  numbers.map(tick => tickOf(world.runId, tick, { cells: cellsAt(range(tick % 50, cells), tick) }))

async function assertHolds(run: RunIndex, ticks: readonly Tick[]): Promise<void> {
  for (const { tick, cells } of ticks) {
    assert.deepEqual(await run.environment.bytes(tick), new Uint8Array(encodeCells(cells)), `bytes of tick ${tick}`)
    assert.deepEqual(await run.environment.cells(tick), cells, `cells of tick ${tick}`)
  }
  const numbers = ticks.map(({ tick }) => tick)
  assert.deepEqual(await run.environment.range(), {
    tickStart: Math.min(...numbers),
    tickEnd: Math.max(...numbers),
    ticks: new Set(numbers).size,
  })
}

/** Writes, and then fails as often as it is told to. */
function failing(times: number): EnvironmentStrategy & { failures: number } {
  const strategy = singleBlob()
  return {
    ...strategy,
    failures: 0,
    async write(...given) {
      await strategy.write(...given)
      if (this.failures++ < times) throw new Error('It fails after it has written')
    },
  }
}

for (const engine of ENGINES) {
  describe(`the environment index on ${engine.name}`, () => {
    it('end to end: every cell of three batches, as the simulation wrote it', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      const batches = [
        ticksWith(world, range(0, 30), 50),
        ticksWith(world, range(30, 30), 75),
        ticksWith(world, range(60, 30), 60),
      ]
      for (const ticks of batches) await world.store(ticks)
      const watched = await world.started({ definition: environmentIndexer(), insertBatchSize: 90 })
      await metric(watched, 'cellsIndexed', 30 * (50 + 75 + 60))
      assert.equal(watched.flushes.length, 1)
      await using run = await openRunIndex(world.place.address, world.runId)
      await assertHolds(run, batches.flat())
      assert.deepEqual(await run.gaps(), [])
      assert.equal(await run.environment.bytes(90), null)
      assert.equal(await run.environment.cells(90), null)
    })

    it('contains empty ticks too, alone and among others', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      const ticks = range(0, 6).map(tick =>
        tickOf(world.runId, tick, { cells: tick % 2 === 0 ? NO_CELLS : cellsAt([tick]) }),
      )
      await world.store(ticks)
      for (const compression of ['zstd', 'none'] as const) {
        const definition = { ...environmentIndexer({ strategy: singleBlob({ compression }) }), name: compression }
        const watched = await world.started({ definition, insertBatchSize: 6 })
        await metric(watched, 'batchesIndexed', 1)
        await using run = await openRunIndex(world.place.address, world.runId)
        await assertHolds(run, ticks)
      }
    })

    it('stays the same when a batch is redelivered', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      const ticks = ticksWith(world, range(0, 40), 50)
      const batch = await world.store(ticks)
      const watched = await world.started({ definition: environmentIndexer(), insertBatchSize: 10 })
      await metric(watched, 'batchesIndexed', 1)
      const rows = () => world.place.execute('select tick, data from run.environment_tick order by tick')
      const before = await rows()
      await world.announce(batch)
      await metric(watched, 'batchesIndexed', 2)
      assert.deepEqual(await rows(), before)
      await using run = await openRunIndex(world.place.address, world.runId)
      await assertHolds(run, ticks)
    })

    it('is written by two competing services, each batch once', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      const both = [1, 2].map(() =>
        world.indexer({ definition: environmentIndexer(), insertBatchSize: 10, flushTimeout: 20 }),
      )
      for (const { indexer } of both) await indexer.start()
      const batches = range(0, 10).map(batch => ticksWith(world, range(batch * 10, 10), 50))
      for (const ticks of batches) await world.store(ticks)
      await until(() => both.flatMap(({ acked }) => acked).length >= 10, { what: 'ten batches' })
      const acked = both.flatMap(watched => watched.acked).sort((a, b) => a - b)
      assert.deepEqual(acked, range(0, 10, 10))
      await using run = await openRunIndex(world.place.address, world.runId)
      await assertHolds(run, batches.flat())
    })

    for (const shape of [[40], [10, 10], [5, 4, 3], [3, 4, 2, 5]]) {
      it(`has ${shape.length} dimensions: every cell is found by its coordinates`, async () => {
        await using world = await World.on(engine, { metadata: { environment: { shape, topology: 'torus' } } })
        await world.indexMetadata()
        const cells = cellsAt([0, 7, 11, 23, 29])
        await world.store([tickOf(world.runId, 5, { cells })])
        await metric(await world.started({ definition: environmentIndexer(), insertBatchSize: 1 }), 'batchesIndexed', 1)
        await using run = await openRunIndex(world.place.address, world.runId)
        const whole = { from: shape.map(() => 0), to: shape.map(length => length - 1) }
        assert.deepEqual(await run.environment.cells(5, whole), cells)
        const strides = shape.map((_, axis) => shape.slice(0, axis).reduce((product, length) => product * length, 1))
        for (const [slot, flat] of cells.flatIndex.entries()) {
          const coordinates = shape.map((length, axis) => Math.floor(flat / (strides[axis] ?? 1)) % length)
          assert.deepEqual(await run.environment.cell(5, coordinates), {
            coordinates,
            moleculeType: cells.moleculeType[slot],
            moleculeValue: cells.moleculeValue[slot],
            ownerId: cells.ownerId[slot],
          })
          const one = await run.environment.cells(5, { from: coordinates, to: coordinates })
          assert.deepEqual(one?.flatIndex, Int32Array.of(flat))
        }
        const second = shape.map((_, axis) => (axis === 0 ? 1 : 0))
        assert.equal(await run.environment.cell(5, second), undefined)
        assert.equal(await run.environment.cell(6, second), null)
      })
    }

    it('contains nothing of a failed flush, continues with other batches, and is complete in the end', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      const strategy = failing(1)
      const first = ticksWith(world, range(0, 10), 20)
      await world.store(first)
      const watched = world.indexer({ definition: environmentIndexer({ strategy }), insertBatchSize: 10 })
      await watched.indexer.start()
      await metric(watched, 'flushesFailed', 1)
      const second = ticksWith(world, range(10, 10), 20)
      await world.store(second)
      await metric(watched, 'batchesIndexed', 2)
      assert.equal(watched.indexer.status().metrics.cellsIndexed, 20 * 20)
      await using run = await openRunIndex(world.place.address, world.runId)
      await assertHolds(run, [...first, ...second])
    })

    it('rolls back what was written before the failure', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      await world.tidemark.configureTopic(world.batchTopic, { maxAttempts: 100 })
      const watched = await world.started({
        definition: environmentIndexer({ strategy: failing(Number.POSITIVE_INFINITY) }),
        insertBatchSize: 10,
      })
      await world.store(ticksWith(world, range(0, 10), 20))
      await until(() => (watched.indexer.status().metrics.flushesFailed ?? 0) > 1, { what: 'failures' })
      assert.equal(watched.indexer.state, 'RUNNING')
      await using run = await openRunIndex(world.place.address, world.runId)
      assert.equal(await run.environment.range(), null)
      assert.equal(await run.environment.bytes(0), null)
    })

    it('reads any compression, even if it changed within a run', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      const ticks = ticksWith(world, range(0, 40), 200)
      const packings = [
        { compression: 'none' },
        { level: 1 },
        { level: 19 },
        { compression: 'none', level: 3 },
      ] as const
      const sizes: number[] = []
      for (const [slot, packing] of packings.entries()) {
        const definition = environmentIndexer({ strategy: singleBlob(packing) })
        const watched = await world.started({ definition, insertBatchSize: 10 })
        await world.store(ticks.slice(slot * 10, (slot + 1) * 10))
        await metric(watched, 'batchesIndexed', 1)
        await watched.indexer.stop()
        const [row] = await world.place.execute(
          `select sum(length(data)) as size from run.environment_tick where tick between ${slot * 10} and ${slot * 10 + 9}`,
        )
        sizes.push(Number(row?.size))
      }
      const [plain = 0, light = 0, strong = 0, plainAgain = 0] = sizes
      assert.ok(light < plain && strong < plain && Math.abs(plainAgain - plain) < plain / 10, `sizes ${sizes}`)
      await using run = await openRunIndex(world.place.address, world.runId)
      await assertHolds(run, ticks)
    })

    it('reports damaged bytes of the index', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      await world.store(ticksWith(world, [1], 200))
      await metric(await world.started({ definition: environmentIndexer(), insertBatchSize: 1 }), 'batchesIndexed', 1)
      const bytes = engine.name === 'SQLite' ? "x'28b52ffd00'" : "'\\x28b52ffd00'::bytea"
      await world.place.execute(`update run.environment_tick set data = ${bytes}`)
      await using run = await openRunIndex(world.place.address, world.runId)
      await assert.rejects(run.environment.bytes(1), (error: unknown) => {
        return error instanceof IndexDatabaseError && /tick 1 .*decompressed/.test(error.message)
      })
    })

    it('shows how much it writes, how fast, and how long it takes', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      const definition = environmentIndexer({ metricsWindow: '10m' })
      const watched = await world.started({ definition, insertBatchSize: 5, metricsWindow: '10m' })
      await world.store(ticksWith(world, range(0, 20), 100))
      await metric(watched, 'batchesIndexed', 1)
      const { metrics } = watched.indexer.status()
      assert.equal(metrics.cellsIndexed, 2_000)
      assert.equal(metrics.flushes, 4)
      assert.equal(metrics.flushesFailed, 0)
      for (const name of ['cellsPerSecond', 'ticksPerSecond', 'flushesPerSecond', 'flushMsP50', 'flushMsAverage']) {
        assert.ok((metrics[name] ?? 0) > 0, `${name} is ${metrics[name]}`)
      }
      const { flushMsP50 = 0, flushMsP95 = 0, flushMsP99 = 0 } = metrics
      assert.ok(flushMsP50 <= flushMsP95 && flushMsP95 <= flushMsP99)
    })
  })
}

describe('an environment indexer', () => {
  it('keeps bytes unchanged, and never returns undecodable ones as a tick', async () => {
    await using place = await (ENGINES[0] ?? assert.fail()).fresh()
    const database = await place.open()
    const definition = environmentIndexer()
    await prepareIndex(database, metadataOf(place.runId), [definition])
    // Three indexes and two types.
    const cells = Uint8Array.of(0x0a, 3, 1, 1, 1, 0x12, 2, 1, 1)
    await flushRaw(database, definition, [
      { runId: place.runId, tick: 3, capturedAt: 0, cells, organisms: [], organismCount: 0 },
    ])
    // In a world of 100 × 100 there is no such cell.
    const beyond = encodeCells(cellsAt([10_000], 4))
    await flushRaw(database, definition, [
      { runId: place.runId, tick: 4, capturedAt: 0, cells: beyond, organisms: [], organismCount: 0 },
    ])
    assert.deepEqual(await readPacked(database.environmentTicks, 3, 1_000), cells)
    await using run = await openRunIndex(place.address, place.runId)
    for (const tick of [3, 4]) {
      const damaged = { name: 'IndexedTickError', code: 'TIDEMARK_INDEX_TICK', tick }
      await assert.rejects(run.environment.bytes(tick), damaged)
      await assert.rejects(run.environment.packed(tick), damaged)
      await assert.rejects(run.environment.cells(tick), damaged)
      await assert.rejects(run.environment.cell(tick, [0, 0]), damaged)
    }
  })

  it('refuses unknown options', () => {
    assert.throws(() => environmentIndexer({ compression: 'none' } as object), { code: 'TIDEMARK_CONFIG' })
    assert.throws(() => singleBlob({ level: 23 }), /level/)
    assert.throws(() => singleBlob({ compression: 'gzip' as 'zstd' }), /compression.*zstd/)
  })
})

describe('bytes that look compressed and are not', () => {
  it('are returned unchanged', () => {
    const bytes = Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 1, 2, 3)
    const packed = pack(bytes, { compression: 'none', level: 3 })
    assert.notDeepEqual(packed, bytes)
    assert.deepEqual(unpack(packed, 1_000, 'it'), bytes)
  })

  it('are refused if they would decompress beyond the limit', () => {
    const packed = pack(new Uint8Array(1_000_000), { compression: 'zstd', level: 3 })
    assert.throws(() => unpack(packed, 999_999, 'tick 7'), /tick 7 .*999999/)
    assert.equal(unpack(packed, 1_000_000, 'tick 7').length, 1_000_000)
  })
})
