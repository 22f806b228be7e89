import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import {
  environmentIndexer,
  IndexDatabaseError,
  IndexNotFoundError,
  IndexReadingError,
  IndexVersionError,
  makeRunId,
  openRunIndex,
  organismIndexer,
  type RunIndex,
  seriesIndexer,
} from '@tidemark/pipeline'
import { temporaryFolder } from '../../../../testing/folders.ts'
import { until } from '../../../../testing/until.ts'
// Inside: a run’s index opens such a connection itself, and offers none of its statements.
import { openIndexForReading } from '../../src/databases/open-index.ts'
import { ENGINES, type FreshIndex, schemaOf } from '../engines.ts'
import { metric, World } from '../indexing/world.ts'
import { range } from '../storage/ticks.ts'
import { cellsAt, flushInto, metadataOf, organismOf, prepareIndex, tickOf } from './ticks.ts'

const ALL = [environmentIndexer(), organismIndexer(), seriesIndexer]

/** PostgreSQL: whether anybody waits for a lock in this database. */
async function waiting(place: FreshIndex): Promise<boolean> {
  const sql = "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
  return (await place.execute(sql)).length > 0
}

async function assertNothing(run: RunIndex): Promise<void> {
  const { environment, organisms, series } = run
  const empty = { ancestors: [], children: [] }
  assert.deepEqual([await environment.range(), await organisms.range(), await series.range()], [null, null, null])
  assert.deepEqual([await environment.bytes(1), await environment.cells(1), await organisms.at(1)], [null, null, null])
  assert.equal(await environment.cells(1, { from: [0, 0], to: [1, 1] }), null)
  assert.equal(await environment.cell(1, [0, 0]), null)
  assert.equal(await environment.difference(1, 2), null)
  assert.deepEqual([await organisms.facts(1), await organisms.oneAt(1, 1)], [null, null])
  assert.deepEqual(await organisms.life(1), [])
  assert.deepEqual(await organisms.lineage(1), empty)
  assert.deepEqual(await series.read(), [])
  assert.deepEqual(await run.gaps(), [])
}

for (const engine of ENGINES) {
  describe(`a run index that is read, on ${engine.name}`, () => {
    it('sees data as soon as it is indexed, and not before', async () => {
      await using place = await engine.fresh()
      const database = await place.open()
      await using run = await openRunIndex(place.address, place.runId)
      assert.equal(await run.metadata(), null)
      await assertNothing(run)
      await prepareIndex(database, metadataOf(place.runId), ALL)
      assert.deepEqual(await run.metadata(), metadataOf(place.runId))
      await assertNothing(run)
      const tick = tickOf(place.runId, 1, { cells: cellsAt([3, 205]), organisms: [organismOf(1)] })
      for (const definition of ALL) await flushInto(database, definition, [tick])
      assert.deepEqual(await run.environment.cells(1), tick.cells)
      assert.deepEqual(await run.organisms.at(1), tick.organisms)
      assert.equal((await run.series.read())[0]?.alive, 1)
    })

    it('waits for no writer, and no writer waits for it', async () => {
      await using place = await engine.fresh()
      const database = await place.open()
      await prepareIndex(database, metadataOf(place.runId), ALL)
      const [first, second] = [1, 2].map(salt => tickOf(place.runId, 1, { cells: cellsAt([7], salt) }))
      assert.ok(first && second)
      for (const definition of ALL) await flushInto(database, definition, [first])
      await database.transaction(async tx => {
        // A writer in the middle of its transaction: it holds what writers hold.
        await database.environmentTicks.write([{ tick: 1, data: new Uint8Array(3) }], tx)
        await database.environmentTicks.count([1], tx)
        await database.series.lock(tx)
        await using run = await openRunIndex(place.address, place.runId, { busyTimeout: 0 })
        assert.deepEqual(await run.environment.cells(1), first.cells)
        assert.deepEqual(await run.environment.range(), { tickStart: 1, tickEnd: 1, ticks: 1 })
        assert.equal((await run.series.read()).length, 1)
        assert.deepEqual(await run.organisms.at(1), [])
      })
      await using run = await openRunIndex(place.address, place.runId)
      for (const definition of ALL) await flushInto(database, definition, [second])
      assert.deepEqual(await run.environment.cells(1), second.cells)
    })

    it('reads while an indexer writes', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      await using run = await openRunIndex(world.place.address, world.runId)
      const watched = await world.started({ definition: environmentIndexer(), insertBatchSize: 5, flushTimeout: 10 })
      const cells = cellsAt(range(0, 50))
      for (let at = 0; at < 100; at += 10) {
        await world.store(range(at, 10).map(tick => tickOf(world.runId, tick, { cells })))
        const { ticks, tickEnd } = (await run.environment.range()) ?? { ticks: 0, tickEnd: -1 }
        // Flushed in order by one indexer: what is there is whole.
        assert.equal(ticks, tickEnd + 1)
        if (tickEnd >= 0) assert.deepEqual(await run.environment.cells(tickEnd), cells)
      }
      await metric(watched, 'batchesIndexed', 10)
      assert.equal((await run.environment.range())?.ticks, 100)
      const { set, emptied } = (await run.environment.difference(0, 99)) ?? assert.fail()
      assert.deepEqual([set.flatIndex.length, emptied.length], [0, 0])
    })

    it('counts its ticks correctly when two write into the same block at once', async () => {
      await using place = await engine.fresh()
      const [one, two] = await Promise.all([place.open(), place.open()])
      const [environment] = ALL
      assert.ok(environment)
      await prepareIndex(one, metadataOf(place.runId), [environment])
      let second: Promise<void> | undefined
      await one.transaction(async tx => {
        await one.environmentTicks.write([{ tick: 1, data: new Uint8Array(3) }], tx)
        await one.environmentTicks.count([1], tx)
        second = flushInto(two, environment, [tickOf(place.runId, 2)])
        // On SQLite it waits for the file, before it has seen anything.
        if (engine.name === 'PostgreSQL') await until(() => waiting(place), { what: 'the other to wait' })
      })
      await second
      await using run = await openRunIndex(place.address, place.runId)
      assert.deepEqual(await run.environment.range(), { tickStart: 1, tickEnd: 2, ticks: 2 })
    })

    it('lists missing ticks by indexer', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      const both = [environmentIndexer(), seriesIndexer].map(definition =>
        world.indexer({ definition, insertBatchSize: 5, flushTimeout: 10 }),
      )
      for (const { indexer } of both) await indexer.start()
      const ticks = (from: number) => range(from, 5).map(tick => tickOf(world.runId, tick))
      await world.store(ticks(0))
      await world.store(ticks(20))
      for (const watched of both) await metric(watched, 'batchesIndexed', 2)
      await using run = await openRunIndex(world.place.address, world.runId)
      assert.deepEqual(
        (await run.gaps()).map(({ indexer, tickStart, tickEnd }) => ({ indexer, tickStart, tickEnd })),
        ['environment', 'series'].map(indexer => ({ indexer, tickStart: 5, tickEnd: 19 })),
      )
    })

    it('does not exist for a run without indexers, and is not created by reading', async () => {
      await using place = await engine.fresh()
      await assert.rejects(openRunIndex(place.address, place.runId), IndexNotFoundError)
      await assert.rejects(openRunIndex(place.address, place.runId), IndexNotFoundError)
      await assert.rejects(openRunIndex(place.address, '../../etc/passwd'), { code: 'TIDEMARK_INVALID_RUN_ID' })
    })

    it('refuses to write, and an index of a newer version', async () => {
      await using place = await engine.fresh()
      await place.open()
      const reading = await openIndexForReading(place.address, place.runId)
      await assert.rejects(
        reading.transaction(async () => {}),
        IndexReadingError,
      )
      await assert.rejects(reading.metadata.write(metadataOf(place.runId)), IndexReadingError)
      await reading.close()
      await place.execute('insert into run.index_migration (version, applied_at) values (1000, 0)')
      await assert.rejects(openRunIndex(place.address, place.runId), IndexVersionError)
    })

    it('refuses invalid ticks, ids and options, and calls after it is closed', async () => {
      await using place = await engine.fresh()
      await place.open()
      const run = await openRunIndex(place.address, place.runId)
      for (const tick of [-1, 1.5, Number.NaN, 2 ** 60]) {
        await assert.rejects(run.environment.bytes(tick), { code: 'TIDEMARK_CONFIG' })
        await assert.rejects(run.organisms.at(tick), { code: 'TIDEMARK_CONFIG' })
        await assert.rejects(run.organisms.facts(tick), { code: 'TIDEMARK_CONFIG' })
      }
      await assert.rejects(openRunIndex(place.address, place.runId, { create: true } as object), /create/)
      await run.close()
      await run.close()
      await assert.rejects(run.environment.bytes(1), { code: 'TIDEMARK_CLOSED' })
    })
  })
}

describe('a file that only has the name of an index', () => {
  it('is an error that says so', async () => {
    using folder = temporaryFolder()
    const runId = makeRunId()
    writeFileSync(
      join(folder.path, `${schemaOf(runId)}.db`),
      'not a database at all, but long enough to be read as one',
    )
    await assert.rejects(openRunIndex(`sqlite:${folder.path}`, runId), IndexDatabaseError)
  })
})
