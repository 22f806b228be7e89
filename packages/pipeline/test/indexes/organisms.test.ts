import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Organism, openRunIndex, organismIndexer, type Tick } from '@tidemark/pipeline'
import fc from 'fast-check'
import { ENGINES, type Engine } from '../engines.ts'
import { metric, World } from '../indexing/world.ts'
import { range } from '../storage/ticks.ts'
import { flushInto, metadataOf, organismOf, prepareIndex, tickOf } from './ticks.ts'

const RUNS = { SQLite: 25, PostgreSQL: 8 }

/** An index with these ticks, flushed in this order. */
async function indexOf(engine: Engine, flushes: (runId: string) => readonly (readonly Tick[])[]) {
  const stack = new AsyncDisposableStack()
  const place = stack.use(await engine.fresh())
  const database = await place.open()
  const definition = organismIndexer()
  await prepareIndex(database, metadataOf(place.runId), [definition])
  for (const ticks of flushes(place.runId)) await flushInto(database, definition, ticks)
  const run = stack.use(await openRunIndex(place.address, place.runId))
  return { place, run, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

/** Lives of up to 8 organisms over 30 ticks, of which some are not seen in every tick. */
const lives = fc.array(
  fc.record({
    birth: fc.nat(25),
    length: fc.integer({ min: 1, max: 12 }),
    parent: fc.option(fc.nat(7)),
    dies: fc.boolean(),
  }),
  { minLength: 1, maxLength: 8 },
)

const scenario = fc.record({
  lives,
  /** Ticks are flushed in parts, in any order, some again. */
  order: fc.array(fc.uniqueArray(fc.nat(29), { minLength: 1, maxLength: 30 }), { minLength: 1, maxLength: 6 }),
})

type Life = { birth: number; length: number; parent: number | null; dies: boolean }

function organismsAt(all: readonly Life[], tick: number): Organism[] {
  return all.flatMap(({ birth, length, parent, dies }, id) => {
    if (tick < birth || tick >= birth + length) return []
    const isDead = dies && tick === birth + length - 1
    return [organismOf(id, { parentId: parent, birthTick: birth, lineage: id % 3, position: [tick, id], isDead })]
  })
}

/** Slow and plain: from all ticks that are indexed, in order. */
function factsOf(all: readonly Life[], ticks: readonly number[], id: number) {
  const seen = ticks.filter(tick => organismsAt(all, tick).some(organism => organism.id === id))
  const [first] = seen
  const last = seen.at(-1)
  if (first === undefined || last === undefined) return null
  const born = organismsAt(all, first).find(organism => organism.id === id)
  const dead = seen.find(tick => organismsAt(all, tick).some(organism => organism.id === id && organism.isDead))
  return {
    id,
    parentId: born?.parentId ?? null,
    birthTick: born?.birthTick,
    birthPosition: born?.position,
    lineage: born?.lineage,
    deathTick: dead ?? ticks.find(tick => tick > last) ?? null,
  }
}

for (const engine of ENGINES) {
  describe(`the organism index on ${engine.name}`, () => {
    it('end to end: every organism, and its state in every tick', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      const ticks = range(0, 20).map(tick =>
        tickOf(world.runId, tick, {
          organisms: tick < 15 ? [organismOf(1, { energy: tick }), organismOf(2, { isDead: tick === 14 })] : [],
        }),
      )
      await world.store(ticks.slice(0, 10))
      await world.store(ticks.slice(10))
      const watched = await world.started({ definition: organismIndexer(), insertBatchSize: 7, flushTimeout: 50 })
      await metric(watched, 'batchesIndexed', 2)
      assert.equal(watched.indexer.status().metrics.organismsIndexed, 30)
      await using run = await openRunIndex(world.place.address, world.runId)
      for (const { tick, organisms } of ticks) assert.deepEqual(await run.organisms.at(tick), organisms)
      assert.deepEqual(await run.organisms.range(), { tickStart: 0, tickEnd: 19, ticks: 20 })
      assert.deepEqual(await run.organisms.oneAt(1, 3), organismOf(1, { energy: 3 }))
      assert.equal(await run.organisms.oneAt(3, 3), undefined)
      assert.equal(await run.organisms.oneAt(1, 20), null)
      assert.equal(await run.organisms.at(20), null)
      // One was shown dead, the other was gone in the next tick.
      assert.equal((await run.organisms.facts(2))?.deathTick, 14)
      assert.equal((await run.organisms.facts(1))?.deathTick, 15)
      assert.equal(await run.organisms.facts(3), null)
    })

    it('has the same facts, in whatever order and however often ticks arrive', async () => {
      await fc.assert(
        fc.asyncProperty(scenario, async ({ lives: all, order }) => {
          const tick = (runId: string) => (number: number) =>
            tickOf(runId, number, { organisms: organismsAt(all, number) })
          await using index = await indexOf(engine, runId => order.map(part => part.map(tick(runId))))
          const { organisms } = index.run
          const ticks = [...new Set(order.flat())].sort((a, b) => a - b)
          for (const id of all.keys()) assert.deepEqual(await organisms.facts(id), factsOf(all, ticks, id))
          for (const number of ticks) assert.deepEqual(await organisms.at(number), organismsAt(all, number))
          const { tickStart, tickEnd, ticks: count } = (await organisms.range()) ?? assert.fail()
          assert.deepEqual([tickStart, tickEnd, count], [ticks[0], ticks.at(-1), ticks.length])
          for (const id of all.keys()) {
            const life = await organisms.life(id)
            const expected = ticks.flatMap(number =>
              organismsAt(all, number)
                .filter(each => each.id === id)
                .map(state => ({ tick: number, state })),
            )
            assert.deepEqual(life, expected)
          }
        }),
        { numRuns: RUNS[engine.name], endOnFailure: true },
      )
    })

    it('keeps a death, and corrects a birth, when earlier ticks arrive late', async () => {
      const all: Life[] = [{ birth: 2, length: 8, parent: null, dies: true }]
      await using index = await indexOf(engine, runId => {
        const ticks = range(0, 14).map(tick => tickOf(runId, tick, { organisms: organismsAt(all, tick) }))
        return [ticks.slice(8), ticks.slice(4, 8), ticks.slice(0, 4), ticks.slice(5, 9)]
      })
      const { birthPosition, deathTick } = (await index.run.organisms.facts(0)) ?? assert.fail()
      assert.deepEqual([birthPosition, deathTick], [[2, 0], 9])
    })

    it('samples a long life evenly, with its first and last moment', async () => {
      const all: Life[] = [{ birth: 10, length: 400, parent: null, dies: false }]
      await using index = await indexOf(engine, runId => [
        range(0, 600).map(tick => tickOf(runId, tick, { organisms: organismsAt(all, tick) })),
      ])
      const ticksOf = async (query: object) => (await index.run.organisms.life(0, query)).map(({ tick }) => tick)
      assert.deepEqual(await ticksOf({ limit: 5 }), [10, 110, 210, 309, 409])
      assert.deepEqual(await ticksOf({ limit: 1 }), [10])
      assert.deepEqual(await ticksOf({ from: 400, to: 1_000 }), range(400, 10))
      assert.deepEqual(await ticksOf({ from: 500 }), [])
      assert.equal((await ticksOf({})).length, 400)
      assert.deepEqual(await index.run.organisms.life(99), [])
      for (const query of [{ limit: 0 }, { limit: 10_001 }, { from: -1 }, { to: 1.5 }, { until: 3 }]) {
        await assert.rejects(index.run.organisms.life(0, query), { code: 'TIDEMARK_CONFIG' })
      }
    })

    it('reads no more ticks of a life than requested', async () => {
      const all: Life[] = [{ birth: 0, length: 300, parent: null, dies: false }]
      await using index = await indexOf(engine, runId => [
        range(0, 300).map(tick => tickOf(runId, tick, { organisms: organismsAt(all, tick) })),
      ])
      // What is not read may be damaged.
      const kept = (await index.run.organisms.life(0, { limit: 4 })).map(({ tick }) => tick)
      const bytes = engine.name === 'SQLite' ? "x'28b52ffd00'" : "'\\x28b52ffd00'::bytea"
      await index.place.execute(`update run.organism_tick set data = ${bytes} where tick not in (${kept})`)
      assert.equal((await index.run.organisms.life(0, { limit: 4 })).length, 4)
      await assert.rejects(index.run.organisms.life(0, { limit: 5 }), /decompressed/)
    })

    it('follows a lineage up to its founder, and down to its children', async () => {
      // 0 ← 1 ← 2 ← … ← 9, and 5 has three more children.
      const parents = [null, ...range(0, 9), 5, 5, 5]
      await using index = await indexOf(engine, runId => [
        [tickOf(runId, 0, { organisms: parents.map((parentId, id) => organismOf(id, { parentId })) })],
      ])
      const ids = async (id: number, limit?: number) => {
        const { ancestors, children } = await index.run.organisms.lineage(id, limit)
        return [ancestors.map(each => each.id), children.map(each => each.id)]
      }
      assert.deepEqual(await ids(9), [[9, 8, 7, 6, 5, 4, 3, 2, 1, 0], []])
      assert.deepEqual(await ids(5), [
        [5, 4, 3, 2, 1, 0],
        [6, 10, 11, 12],
      ])
      assert.deepEqual(await ids(5, 2), [
        [5, 4],
        [6, 10],
      ])
      assert.deepEqual(await ids(77), [[], []])
      const { children } = await index.run.organisms.lineage(5, 2, 10)
      assert.deepEqual(
        children.map(each => each.id),
        [11, 12],
      )
    })

    it('stops at a cycle', async () => {
      await using index = await indexOf(engine, runId => [
        [tickOf(runId, 0, { organisms: [organismOf(1, { parentId: 2 }), organismOf(2, { parentId: 1 })] })],
      ])
      assert.equal((await index.run.organisms.lineage(1, 10)).ancestors.length, 10)
    })
  })
}
