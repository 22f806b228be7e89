import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { decodeOrganism, openRunIndex } from '@tidemark/pipeline'
import { organismOf, tickOf } from '../../pipeline/test/indexes/ticks.ts'
import { ENGINES, indexedWorld } from './indexed-worlds.ts'

const TORUS = { environment: { shape: [100, 100], topology: 'torus' as const } }

const living = (tick: number) => [
  organismOf(1, { lineage: 10, energy: 5, position: [0, 0] }),
  organismOf(2, { lineage: 10, energy: 50, position: [95, 95], parentId: 1 }),
  organismOf(3, { lineage: 20, energy: 50, position: [5, 5], parentId: 1, birthTick: tick }),
  organismOf(4, { lineage: 20, energy: 7, position: [50, 50], isDead: true }),
  organismOf(5, { lineage: 10, energy: Number.NaN, position: [60, 60] }),
]

for (const engine of ENGINES) {
  describe(`organisms of a tick, on ${engine.name}`, () => {
    it('are columns, chosen by region and lineage, sorted by id or energy', async () => {
      await using world = await indexedWorld(engine, TORUS)
      assert.equal((await world.get(`${world.run}/organisms`)).status, 404)
      await world.write([4, 5].map(tick => tickOf(world.runId, tick, { organisms: living(tick) })))
      const organisms = `${world.run}/organisms`
      const { body, headers } = await world.get(organisms)
      assert.deepEqual(
        [body.tick, body.id, body.total, body.next, headers['cache-control']],
        [5, [1, 2, 3, 4, 5], 5, null, 'no-store'],
      )
      assert.deepEqual(body.position, [[0, 95, 5, 50, 60], [0, 95, 5, 50, 60]]) // biome-ignore format: a table
      assert.deepEqual([body.lineage, body.parentId, body.isDead, body.energy], [[10, 10, 20, 20, 10], [null, 1, 1, null, null], [false, false, false, true, false], [5, 50, 50, 7, null]]) // biome-ignore format: a table
      const ids = async (query: string) => (await world.get(`${organisms}?tick=4&${query}`)).body.id
      assert.deepEqual(await ids('sort=energy'), [2, 3, 4, 1, 5])
      assert.deepEqual(await ids('lineage=20'), [3, 4])
      assert.deepEqual(await ids('region=0,0:50,50'), [1, 3, 4])
      assert.deepEqual(await ids('region=90,90:9,9&wrap'), [1, 2, 3])
      assert.deepEqual(await ids('region=90,90:9,9&wrap&lineage=10&sort=energy'), [2, 1])
      assert.match(String((await world.get(`${organisms}?tick=4`)).headers['cache-control']), /immutable/)
    })

    it('come in pages, whatever they are sorted by', async () => {
      await using world = await indexedWorld(engine, TORUS)
      await world.write([tickOf(world.runId, 4, { organisms: living(4) })])
      for (const sort of ['id', 'energy']) {
        const seen: number[] = []
        let after = ''
        do {
          const { body } = await world.get(`${world.run}/organisms?tick=4&limit=2&sort=${sort}${after}`)
          assert.equal(body.total, 5)
          seen.push(...body.id)
          after = body.next === null ? '' : `&after=${encodeURIComponent(body.next)}`
        } while (after !== '')
        assert.deepEqual(seen, sort === 'id' ? [1, 2, 3, 4, 5] : [2, 3, 4, 1, 5])
      }
      for (const query of [
        'after=x',
        'after=5/5',
        'sort=energy&after=5',
        'region=90,90:9,9',
        'region=0,0:100,1',
        'limit=0',
        'sort=x',
        'tick=-1',
      ]) {
        // biome-ignore format: a list
        assert.equal((await world.get(`${world.run}/organisms?${query}`)).status, 400, query)
      }
      const missing = await world.get(`${world.run}/organisms?tick=9`)
      assert.deepEqual([missing.status, missing.body.nearest], [404, { before: 4, after: null }])
    })

    it('are protobuf on request', async () => {
      await using world = await indexedWorld(engine, TORUS)
      await world.write([tickOf(world.runId, 4, { organisms: living(4) })])
      const answer = await world.get(`${world.run}/organisms?tick=4&sort=energy&limit=2`, {
        accept: 'application/x-protobuf',
      })
      assert.deepEqual(
        [answer.headers['content-type'], answer.headers['tidemark-total'], answer.headers['tidemark-next']],
        ['application/x-protobuf', '5', '50/3'],
      )
      const first = decodeOrganism(answer.bytes.subarray(1, 1 + (answer.bytes[0] ?? 0)))
      assert.deepEqual([first.id, [...first.genome]], [2, [2]])
    })

    it('belong to lineages, of which the largest are told with where they come from', async () => {
      await using world = await indexedWorld(engine, TORUS)
      await world.write([tickOf(world.runId, 3, { organisms: [organismOf(1, { lineage: 10 })] })])
      await world.write([5, 4].map(tick => tickOf(world.runId, tick, { organisms: living(4) })))
      await world.write([
        tickOf(world.runId, 6, { organisms: [organismOf(3, { lineage: 20, parentId: 1, birthTick: 4 })] }),
      ])
      const { body } = await world.get(`${world.run}/lineages?tick=5`)
      assert.deepEqual(body, {
        tick: 5,
        count: 2,
        alive: 4,
        lineages: [
          { lineage: 10, parent: null, alive: 3, firstTick: 3, lastTick: 5 },
          { lineage: 20, parent: 10, alive: 1, firstTick: 4, lastTick: 6 },
        ],
      })
      const top = (await world.get(`${world.run}/lineages?top=1&tick=4`)).body
      assert.deepEqual([top.count, top.lineages.length], [2, 1])
      assert.equal((await world.get(`${world.run}/lineages`)).body.tick, 6)
      assert.equal((await world.get(`${world.run}/lineages?top=0`)).status, 400)
    })

    it('belong to lineages also in an index that was begun before these were kept', async () => {
      await using world = await indexedWorld(engine, TORUS)
      await world.write([4, 5].map(tick => tickOf(world.runId, tick, { organisms: living(4) })))
      await world.place.execute('drop table run.lineage')
      const lineages = async () => {
        await using run = await openRunIndex(world.place.address, world.runId)
        return (await run.organisms.lineages(5))?.lineages
      }
      const expected = [
        { lineage: 10, parent: null, alive: 3, firstTick: 4, lastTick: 5 },
        { lineage: 20, parent: 10, alive: 1, firstTick: 4, lastTick: 5 },
      ]
      assert.deepEqual(await lineages(), expected)
      await world.begin({ runId: world.runId, ...TORUS })
      assert.deepEqual(await lineages(), expected)
      assert.equal((await world.place.execute('select * from run.lineage')).length, 2)
    })

    it('have a series of each lineage, and the least and largest of a tick in every series', async () => {
      await using world = await indexedWorld(engine, TORUS)
      const alive = (tick: number) => (tick === 13 ? 5 : tick === 14 ? 0 : 2)
      const ticks = Array.from({ length: 30 }, (_, tick) =>
        tickOf(world.runId, tick, {
          organisms: [
            ...Array.from({ length: alive(tick) }, (_, id) => organismOf(id + 10, { lineage: 1, energy: tick + 1 })),
            organismOf(1, { lineage: 2, energy: 4, isDead: tick === 20 }),
          ],
        }),
      )
      await world.write(ticks)
      const [point, ...rest] = (await world.get(`${world.run}/series?points=1`)).body.points
      assert.deepEqual([rest, point.ticks, point.min.alive, point.max.alive], [[], 30, 1, 6])
      assert.deepEqual([point.min.deaths, point.max.deaths], [0, 1])
      assert.ok(point.min.alive < point.alive && point.alive < point.max.alive)
      const [exact] = (await world.get(`${world.run}/series?from=13&to=13`)).body.points
      assert.deepEqual([exact.min.alive, exact.alive, exact.max.alive], [6, 6, 6])
      const { points } = (await world.get(`${world.run}/series?lineage=1&from=12&to=15`)).body
      assert.deepEqual(points.map(({ alive, tick }: { alive: number; tick: number }) => [tick, alive]), [[12, 2], [13, 5], [14, 0], [15, 2]]) // biome-ignore format: a table
      assert.equal((await world.get(`${world.run}/series?lineage=1&points=3`)).body.points.length, 3)
      assert.deepEqual((await world.get(`${world.run}/series?lineage=2&from=20&to=20`)).body.points[0].deaths, 1)
      assert.deepEqual((await world.get(`${world.run}/series?lineage=9&from=20&to=20`)).body.points[0].alive, 0)
      // An index of before there was such a column.
      await world.place.execute('alter table run.series drop column extremes')
      const read = async () => {
        await using run = await openRunIndex(world.place.address, world.runId)
        return (await run.series.read({ points: 1 }))[0]
      }
      assert.equal((await read())?.ticks, 30)
      await world.begin({ runId: world.runId, ...TORUS })
      await world.write([tickOf(world.runId, 30, { organisms: [] })])
      assert.deepEqual([(await read())?.ticks, (await read())?.min.alive], [31, 0])
    })
  })
}
