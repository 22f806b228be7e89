import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Organism, openRunIndex, type SeriesPoint, seriesIndexer, type Tick } from '@tidemark/pipeline'
import fc from 'fast-check'
// Inside: how many rows a plot reads shows in no answer.
import { bucketSize } from '../../src/series/levels.ts'
import { coverSpan, planPoints } from '../../src/series/points.ts'
import { ENGINES } from '../engines.ts'
import { metric, World } from '../indexing/world.ts'
import { range } from '../storage/ticks.ts'
import { cellsAt, flushInto, metadataOf, organismOf, prepareIndex, tickOf } from './ticks.ts'

const RUNS = { SQLite: 30, PostgreSQL: 8 }
const TYPES = 5

/** What is in a tick follows from its number. */
function tickAt(runId: string, tick: number, interval = 1): Tick {
  const organisms = range(0, tick % 7).map(id =>
    organismOf(id, {
      energy: tick * 1.1 + id / 3,
      parentId: id === 0 ? null : 0,
      birthTick: id % 2 === 0 ? tick : Math.max(0, tick - interval),
      isDead: (tick + id) % 5 === 0,
    }),
  )
  return tickOf(runId, tick, { organisms, cells: cellsAt(range(0, tick % 11), tick) })
}

/** Slow and plain. */
function pointOf(ticks: readonly Tick[], interval: number): SeriesPoint {
  const each = ticks.map(tick => meansOf([tick], interval))
  const extreme = (choose: (...values: number[]) => number) => ({
    alive: choose(...each.map(({ alive }) => alive)),
    births: choose(...each.map(({ births }) => births)),
    deaths: choose(...each.map(({ deaths }) => deaths)),
    meanEnergy: choose(...each.map(({ meanEnergy }) => meanEnergy)),
  })
  return { ...meansOf(ticks, interval), min: extreme(Math.min), max: extreme(Math.max) }
}

function meansOf(ticks: readonly Tick[], interval: number): Omit<SeriesPoint, 'min' | 'max'> {
  const all = ticks.flatMap(({ tick, organisms }) => organisms.map(organism => ({ tick, organism })))
  const living = all.filter(({ organism }) => !organism.isDead)
  const isBirth = ({ tick, organism }: { tick: number; organism: Organism }) =>
    organism.parentId !== null && organism.birthTick > tick - interval && organism.birthTick <= tick
  const energy = living.reduce((sum, { organism }) => sum + organism.energy, 0)
  const types = ticks.flatMap(({ cells }) => [...cells.moleculeType])
  return {
    tick: Math.min(...ticks.map(({ tick }) => tick)),
    ticks: ticks.length,
    alive: living.length / ticks.length,
    births: all.filter(isBirth).length,
    deaths: all.length - living.length,
    meanEnergy: living.length === 0 ? 0 : energy / living.length,
    cells: range(0, TYPES).map(type => types.filter(each => each === type).length / ticks.length),
  }
}

/** Sums of the same numbers in another order differ in their last bits. */
const rounded = (points: readonly SeriesPoint[]): SeriesPoint[] =>
  points.map(point => ({ ...roundedEnergy(point), min: roundedEnergy(point.min), max: roundedEnergy(point.max) }))

const roundedEnergy = <T extends { readonly meanEnergy: number }>(point: T): T => ({
  ...point,
  meanEnergy: Number(point.meanEnergy.toFixed(6)),
})

const scenario = fc.record({
  interval: fc.constantFrom(1, 1, 3, 10),
  /** Numbers of samples, flushed in parts, in any order, some again. */
  parts: fc.array(fc.array(fc.nat(700), { minLength: 1, maxLength: 60 }), { minLength: 1, maxLength: 6 }),
  from: fc.option(fc.nat(800)),
  length: fc.option(fc.nat(800)),
  points: fc.integer({ min: 1, max: 40 }),
})

for (const engine of ENGINES) {
  describe(`the series on ${engine.name}`, () => {
    it('end to end: from batches of an indexer', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      const ticks = range(0, 100).map(tick => tickAt(world.runId, tick))
      for (let at = 0; at < 100; at += 20) await world.store(ticks.slice(at, at + 20))
      await metric(
        await world.started({ definition: seriesIndexer, insertBatchSize: 30, flushTimeout: 50 }),
        'batchesIndexed',
        5,
      )
      await using run = await openRunIndex(world.place.address, world.runId)
      assert.deepEqual(await run.series.range(), { tickStart: 0, tickEnd: 99, ticks: 100 })
      const points = await run.series.read()
      const trimmed = points.map(({ cells, ...point }) => ({
        ...point,
        cells: range(0, TYPES).map(type => cells[type] ?? 0),
      }))
      assert.deepEqual(rounded(trimmed), rounded(ticks.map(tick => pointOf([tick], 1))))
    })

    it('counts every tick once at every resolution, in whatever order and however often ticks arrive', async () => {
      await fc.assert(
        fc.asyncProperty(scenario, async ({ interval, parts, from, length, points }) => {
          await using place = await engine.fresh()
          const database = await place.open()
          const metadata = metadataOf(place.runId, {
            samplingInterval: interval,
            moleculeTypes: range(0, TYPES).map(type => `type ${type}`),
          })
          await prepareIndex(database, metadata, [seriesIndexer])
          const numbers = parts.map(part => [...new Set(part)].map(sample => sample * interval))
          for (const part of numbers) {
            await flushInto(
              database,
              seriesIndexer,
              part.map(tick => tickAt(place.runId, tick, interval)),
            )
          }
          const all = [...new Set(numbers.flat())].sort((a, b) => a - b)
          await using run = await openRunIndex(place.address, place.runId)
          const expected = { tickStart: all[0], tickEnd: all.at(-1), ticks: all.length }
          assert.deepEqual(await run.series.range(), expected)

          const first = (from ?? 0) * interval
          const last = length === null ? Number.MAX_SAFE_INTEGER : first + length * interval
          const read = await run.series.read({ from: first, to: last, points })
          assert.ok(read.length <= points, `${read.length} points of ${points}`)
          const asked = all.filter(tick => tick >= first && tick <= last)
          assert.deepEqual(
            rounded(read),
            rounded(
              read.map(({ tick }, at) => {
                const next = read[at + 1]?.tick ?? Number.POSITIVE_INFINITY
                const within = asked.filter(each => each >= tick && each < next)
                return pointOf(
                  within.map(each => tickAt(place.runId, each, interval)),
                  interval,
                )
              }),
            ),
          )
          assert.equal(
            read.reduce((sum, { ticks }) => sum + ticks, 0),
            asked.length,
          )
          // Each as it is, where there is room for each.
          const finest = await run.series.read({ points: 10_000 })
          assert.deepEqual(
            finest.map(({ tick }) => tick),
            all,
          )
        }),
        { numRuns: RUNS[engine.name], endOnFailure: true },
      )
    })

    it('is identical to the last bit, in whatever order it was written', async () => {
      const contents = async (parts: readonly (readonly number[])[]) => {
        await using place = await engine.fresh()
        const database = await place.open()
        await prepareIndex(database, metadataOf(place.runId), [seriesIndexer])
        for (const part of parts)
          await flushInto(
            database,
            seriesIndexer,
            part.map(tick => tickAt(place.runId, tick)),
          )
        return (await place.execute('select * from run.series order by level, bucket')).map(row => ({ ...row }))
      }
      const ordered = await contents([range(0, 300)])
      const shuffled = [range(250, 50), range(3, 90), range(0, 20), range(90, 170), range(10, 5)]
      assert.deepEqual(await contents(shuffled), ordered)
      assert.equal(ordered.filter(({ level }) => Number(level) === 8).length, 1)
    })

    it('is rolled up correctly by two concurrent writers of the same buckets', async () => {
      await using place = await engine.fresh()
      const [one, two] = await Promise.all([place.open(), place.open()])
      await prepareIndex(one, metadataOf(place.runId), [seriesIndexer])
      const odd = range(0, 100).map(sample => 2 * sample + 1)
      const even = range(0, 100).map(sample => 2 * sample)
      const write = async (database: typeof one, ticks: readonly number[]) => {
        for (let at = 0; at < ticks.length; at += 10) {
          await flushInto(
            database,
            seriesIndexer,
            ticks.slice(at, at + 10).map(tick => tickAt(place.runId, tick)),
          )
        }
      }
      await Promise.all([write(one, odd), write(two, even)])
      await using run = await openRunIndex(place.address, place.runId)
      assert.deepEqual(await run.series.range(), { tickStart: 0, tickEnd: 199, ticks: 200 })
      const sums = (await place.execute('select level, sum(ticks) as n from run.series group by level order by 1')).map(
        row => Number(row.n),
      )
      assert.deepEqual(sums, Array(9).fill(200))
    })

    it('accepts values that are not numbers, and any number of types', async () => {
      await using place = await engine.fresh()
      const database = await place.open()
      await prepareIndex(database, metadataOf(place.runId), [seriesIndexer])
      const energies = [Number.NaN, Number.POSITIVE_INFINITY, Number.MAX_VALUE, Number.MAX_VALUE]
      const cells = { ...cellsAt([1, 2]), moleculeType: Int32Array.of(2 ** 31 - 1, 1_023) }
      const organisms = energies.map((energy, id) => organismOf(id, { energy }))
      for (const tick of [0, 1])
        await flushInto(database, seriesIndexer, [tickOf(place.runId, tick, { cells, organisms })])
      await using run = await openRunIndex(place.address, place.runId)
      const [point] = await run.series.read({ points: 1 })
      assert.equal(point?.alive, 4)
      assert.ok(Number.isFinite(point?.meanEnergy))
      assert.equal(point?.cells.length, 1_024)
      assert.equal(point?.cells[1_023], 2)
    })

    it('refuses invalid arguments', async () => {
      await using place = await engine.fresh()
      await place.open()
      await using run = await openRunIndex(place.address, place.runId)
      for (const query of [{ points: 0 }, { points: 10_001 }, { from: -1 }, { to: 0.5 }, { last: 5 }]) {
        await assert.rejects(run.series.read(query), { code: 'TIDEMARK_CONFIG' })
      }
    })
  })
}

describe('reading a series', () => {
  const asked = fc.record({
    from: fc.nat(10_000_000),
    length: fc.nat(100_000_000),
    points: fc.integer({ min: 1, max: 1_000 }),
    interval: fc.constantFrom(1, 2, 10, 1_000),
  })

  it('covers exactly the ticks asked for, with few rows however many ticks there are', () => {
    fc.assert(
      fc.property(asked, ({ from, length, points, interval }) => {
        const span = { from, to: from + length }
        const plan = planPoints(span, points, interval)
        const pieces = coverSpan(span, plan.level, interval)
        let next = from
        let rows = 0
        for (const { level, buckets } of pieces) {
          const size = level === 0 ? 1 : bucketSize(level, interval)
          assert.equal(buckets.first * size, next)
          next = (buckets.last + 1) * size
          rows += Math.ceil((buckets.last - buckets.first + 1) / (level === 0 ? interval : 1))
          // No bucket belongs to two points.
          assert.ok(level === 0 || bucketSize(plan.level, interval) % size === 0)
        }
        assert.equal(next, span.to + 1)
        assert.equal(plan.width % bucketSize(plan.level, interval), 0)
        assert.ok(Math.floor((span.to - plan.start) / plan.width) < points)
        const edges = 2 * 8 * (plan.level + 1)
        const tooLong = length / (points * bucketSize(8, interval)) // Beyond the highest level rows grow again.
        assert.ok(rows <= 8 * points * Math.max(1, tooLong) + edges, `${rows} rows for ${points} points`)
      }),
      { numRuns: 1_000 },
    )
  })
})
