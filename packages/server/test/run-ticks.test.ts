import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { tickOf } from '../../pipeline/test/indexes/ticks.ts'
import { ENGINES, type IndexedWorld, indexedWorld } from './indexed-worlds.ts'

const write = (world: IndexedWorld, ticks: readonly number[]) =>
  world.write(ticks.map(tick => tickOf(world.runId, tick)))
const from = (start: number, end: number, step = 1) =>
  Array.from({ length: Math.floor((end - start) / step) + 1 }, (_, index) => start + index * step)

for (const engine of ENGINES) {
  describe(`ticks of a run, on ${engine.name}`, () => {
    it('are ranges and gaps, across full and partial blocks', async () => {
      await using world = await indexedWorld(engine)
      const ticks = `${world.run}/ticks`
      assert.deepEqual((await world.get(ticks)).body, { ranges: [], gaps: [], next: null })
      await write(world, [...from(3, 900), 905, ...from(910, 1_300), ...from(5_000, 5_001)])
      assert.deepEqual((await world.get(ticks)).body, {
        ranges: [[3, 900, 1], [905, 905, 1], [910, 1_300, 1], [5_000, 5_001, 1]], // biome-ignore format: a table
        gaps: [[901, 904], [906, 909], [1_301, 4_999]], // biome-ignore format: a table
        next: null,
      })
      const part = (await world.get(`${ticks}?from=600&to=903`)).body
      assert.deepEqual(part, { ranges: [[600, 900, 1]], gaps: [[901, 903]], next: null })
      assert.deepEqual((await world.get(`${ticks}?from=902&to=903`)).body.gaps, [[902, 903]])
      assert.deepEqual((await world.get(`${ticks}?from=9000`)).body, { ranges: [], gaps: [], next: null })
      assert.equal((await world.get(`${ticks}?from=9&to=8`)).status, 400)
    })

    it('come in pages, with nothing lost between two', async () => {
      await using world = await indexedWorld(engine)
      await write(
        world,
        from(0, 40, 2).flatMap(tick => [tick * 10, tick * 10 + 1]),
      )
      const whole = (await world.get(`${world.run}/ticks`)).body
      assert.equal(whole.ranges.length, 21)
      const ranges: unknown[] = []
      const gaps: unknown[] = []
      let next: number | null = 0
      while (next !== null) {
        const { body } = await world.get(`${world.run}/ticks?limit=4&from=${next}`)
        assert.ok(body.ranges.length <= 4)
        ranges.push(...body.ranges)
        gaps.push(...body.gaps)
        next = body.next
      }
      assert.deepEqual({ ranges, gaps }, { ranges: whole.ranges, gaps: whole.gaps })
    })

    it('keep to the samples', async () => {
      await using world = await indexedWorld(engine, { samplingInterval: 10 })
      await write(world, [...from(0, 600, 10), ...from(700, 900, 10)])
      assert.deepEqual((await world.get(`${world.run}/ticks?from=5`)).body, {
        ranges: [[10, 600, 10], [700, 900, 10]], // biome-ignore format: a table
        gaps: [[610, 690]],
        next: null,
      })
    })
  })
}
