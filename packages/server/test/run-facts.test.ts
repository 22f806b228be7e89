import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { makeRunId } from '@tidemark/pipeline'
import { open } from 'tidemark'
import { freshDatabase } from '../../../testing/databases.ts'
import { until } from '../../../testing/until.ts'
import { cellsAt, organismOf, tickOf } from '../../pipeline/test/indexes/ticks.ts'
import { ENGINES, indexedWorld } from './indexed-worlds.ts'
import { SILENT } from './servers.ts'
import { Listener } from './streams.ts'

const ticksOf = (runId: string, from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => {
    const organisms = [organismOf(1), organismOf(2, { parentId: 1, birthTick: 2 }), organismOf(3, { isDead: true })]
    return tickOf(runId, from + index, { cells: cellsAt([1, 2, 3]), organisms })
  })

for (const engine of ENGINES) {
  describe(`facts of runs, on ${engine.name}`, () => {
    it('say what a card shows, the newest run first', async () => {
      await using world = await indexedWorld(engine, {
        seed: 'reef',
        environment: { shape: [40, 30], topology: 'torus' },
      })
      await world.write(ticksOf(world.runId, 0, 4))
      const older = makeRunId(Date.UTC(2020, 0, 2))
      await world.begin({ runId: older, environment: { shape: [7], topology: 'bounded' } })
      const { status, body, headers } = await world.get('/api/v1/runs?facts=true&order=newest')
      assert.deepEqual([status, headers['cache-control'], body.next], [200, 'no-store', null])
      const [newest, empty] = body.runs
      const { bytes, startedAt, ...facts } = newest
      assert.deepEqual(facts, {
        runId: world.runId,
        live: false,
        seed: 'reef',
        shape: [40, 30],
        topology: 'torus',
        moleculeTypes: ['code', 'data', 'energy'],
        samplingInterval: 1,
        ticks: { first: 0, last: 4, count: 5 },
        alive: 2,
        gaps: 0,
        problem: null,
      })
      assert.ok(bytes > 10_000, String(bytes))
      assert.equal(startedAt, new Date(1_760_000_000_000).toISOString())
      assert.deepEqual([empty.runId, empty.ticks, empty.alive, empty.shape], [older, null, null, [7]])
      const first = (await world.get('/api/v1/runs?facts=true&order=newest&limit=1')).body
      assert.deepEqual([first.runs.length, first.next], [1, world.runId])
      const rest = (await world.get(`/api/v1/runs?facts=true&order=newest&after=${first.next}`)).body
      assert.deepEqual([rest.runs[0].runId, rest.next], [older, null])
      assert.deepEqual((await world.get('/api/v1/runs')).body, { runs: [older, world.runId], next: null })
      assert.equal((await world.get('/api/v1/overview')).body.newestRun.runId, world.runId)
    })

    it('are in the first snapshot of the first reader, so that nothing on a page moves for them later', async () => {
      const database = await freshDatabase()
      await using tm = await open(database.url, { logger: SILENT, maintenance: false })
      await using world = await indexedWorld(engine, {}, { topics: tm })
      await world.write(ticksOf(world.runId, 0, 4))
      await using reader = await Listener.open(world.url, '/api/v1/events')
      const { data } = await reader.next(({ event }) => event === 'snapshot', 'the overview')
      assert.deepEqual([data.newestRun?.runId, data.newestRun?.alive], [world.runId, 2])
      await database.drop()
    })

    it('report every growing run to readers of the events, and new points of a requested one', async () => {
      await using world = await indexedWorld(engine)
      const other = makeRunId(Date.UTC(2020, 0, 2))
      await world.begin({ runId: other })
      await world.write([...ticksOf(world.runId, 0, 4), ...ticksOf(other, 0, 1)])
      await using watching = await Listener.open(world.url, `/api/v1/events?detail=run:${world.runId}`)
      await using passing = await Listener.open(world.url, '/api/v1/events')
      const of = (runId: string) =>
        watching.events.findLast(({ event, data }) => event === 'run' && data.runId === runId)
      await until(() => of(world.runId), { what: 'the newest run' })
      assert.deepEqual(of(world.runId)?.data, { runId: world.runId, live: false, tick: 4, alive: 2 })
      let next = 5
      const grow = async (): Promise<void> => {
        await world.write([...ticksOf(world.runId, next, next), ...ticksOf(other, next, next)])
        next++
      }
      const isLive = (runId: string): boolean => of(runId)?.data.live === true
      const newPoints = () => watching.events.find(({ event }) => event === 'series')
      // Points are new from the first look on, which may come late: the runs grow until some were told.
      const series = await until(
        async () => {
          await grow()
          return isLive(other) && isLive(world.runId) && newPoints()
        },
        { what: 'both runs to be live, and new points' },
      )
      assert.equal(series.data.runId, world.runId)
      assert.ok(series.data.points[0].ticks >= 1)
      assert.equal(series.data.points[0].alive, 2)
      assert.ok(series.data.points[0].tick >= 5)
      assert.equal(
        passing.events.find(({ event }) => event === 'series'),
        undefined,
      )
      const facts = (await world.get('/api/v1/runs?facts=true')).body.runs
      assert.deepEqual(
        facts.map(({ live }: { live: boolean }) => live),
        [true, true],
      )
    })

    it('refuse invalid details, and leave out an unknown run', async () => {
      await using world = await indexedWorld(engine)
      for (const detail of ['run:x', 'nothing', 'topic:', `run:${world.runId},`]) {
        assert.equal((await world.get(`/api/v1/events?detail=${detail}`)).status, 400, detail)
      }
      await using listener = await Listener.open(world.url, `/api/v1/events?detail=run:${makeRunId()}`)
      await listener.next(({ event }) => event === 'snapshot', 'the snapshot')
    })
  })
}
