import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { BatchLedger, dummyIndexer, type Gap, type IndexDatabase, storageSource } from '@tidemark/pipeline'
import { until } from '../../../../testing/until.ts'
import { ENGINES } from '../engines.ts'
import { letTimePass } from '../ledger/batches.ts'
import { ackedAre, metric, type Watched, World } from './world.ts'

const fromStorage = () => ({ source: storageSource({ scanInterval: 10 }), insertBatchSize: 10, flushTimeout: 30 })

/** A `gapWarningTimeout`: gaps are looked for every quarter of it. */
const QUICK_LOOKS = 2_000

const ledgerOf = (database: IndexDatabase): Promise<BatchLedger> =>
  BatchLedger.open(database, { indexer: 'dummy', samplingInterval: 1 })

function gapsOf({ indexer }: Watched): Gap[] {
  const gaps: Gap[] = []
  indexer.events.on('permanentGap', gap => gaps.push(gap))
  return gaps
}

for (const engine of ENGINES) {
  describe(`the storage source, on ${engine.name}`, () => {
    it('indexes existing and new files in order, and completes them in the ledger', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      for (const start of [0, 10, 20]) await world.write(start, 10)
      const watched = await world.started(fromStorage())
      await ackedAre(watched, 0, 10, 20)
      await world.write(30, 5)
      await ackedAre(watched, 0, 10, 20, 30)
      const ledger = await ledgerOf(await world.place.open())
      assert.equal((await ledger.counts()).completed, 4)
      assert.deepEqual(await ledger.processedRanges(), [{ tickStart: 0, tickEnd: 34 }])
    })

    it('begins with the first batch, whatever its tick, and takes earlier ones when they arrive', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      await world.write(20, 10)
      const watched = await world.started({ ...fromStorage(), ledger: { gapWarningTimeout: 1 } })
      await ackedAre(watched, 20)
      // Two lanes write at the same time, and the second may be quicker.
      await world.write(10, 10)
      await ackedAre(watched, 20, 10)
      await world.write(30, 10)
      await ackedAre(watched, 20, 10, 30)
      const ledger = await ledgerOf(await world.place.open())
      assert.deepEqual(await ledger.gaps(), [])
      assert.deepEqual(await ledger.processedRanges(), [{ tickStart: 10, tickEnd: 39 }])
      assert.equal(watched.indexer.status().metrics.permanentGaps, 0)
    })

    it('waits for the first tick if it is given', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      await world.write(10, 10)
      const watched = await world.started({ ...fromStorage(), ledger: { firstTick: 5, gapWarningTimeout: 1 } })
      await metric(watched, 'permanentGaps', 1)
      assert.deepEqual(watched.acked, [])
      await world.write(5, 5)
      await ackedAre(watched, 5, 10)
    })

    it('temporary gap: later batches wait, and are indexed when the gap is filled', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      for (const start of [0, 20, 30]) await world.write(start, 10)
      const watched = await world.started({ ...fromStorage(), ledger: { gapWarningTimeout: QUICK_LOOKS } })
      const ledger = await ledgerOf(await world.place.open())
      await until(async () => (await ledger.counts()).gap_pending === 2, { what: 'two batches to wait' })
      await ackedAre(watched, 0)
      await metric(watched, 'openGaps', 1)
      await world.write(10, 10)
      await until(() => watched.acked.length === 4, { what: 'four acks' })
      assert.deepEqual(watched.acked, [0, 10, 20, 30])
      assert.equal((await ledger.counts()).gap_pending, 0)
      await world.assertIndexed({ batches: 4, ticks: 40 })
    })

    it('permanent gap: is reported once, as an event and in the metrics, and later batches keep waiting', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      for (const start of [0, 20]) await world.write(start, 10)
      const watched = world.indexer({ ...fromStorage(), ledger: { gapWarningTimeout: 100 } })
      const gaps = gapsOf(watched)
      await watched.indexer.start()
      await metric(watched, 'permanentGaps', 1)
      await until(() => gaps.length === 1, { what: 'the event' })
      assert.deepEqual([gaps[0]?.tickStart, gaps[0]?.tickEnd], [10, 19])
      assert.deepEqual(watched.acked, [0])
      await world.write(10, 10)
      await ackedAre(watched, 0, 10, 20)
      assert.equal(gaps.length, 1)
    })

    it('permanent gap: is skipped if configured', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      for (const start of [0, 20]) await world.write(start, 10)
      const ledger = { gapWarningTimeout: 50, afterPermanentGap: 'release' } as const
      const watched = await world.started({ ...fromStorage(), ledger })
      await ackedAre(watched, 0, 20)
    })

    it('takes over a batch whose claimer is stuck', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      const { storageKey: key, tickStart, tickEnd } = await world.write(0, 10)
      const ledger = await ledgerOf(await world.place.open())
      assert.equal((await ledger.tryClaim({ key, tickStart, tickEnd }, 'stuck')).outcome, 'claimed')
      const watched = await world.started(fromStorage())
      await world.write(10, 10)
      await ackedAre(watched, 10)
      await letTimePass(world.place, 600_000)
      await ackedAre(watched, 10, 0)
      await world.assertIndexed({ batches: 2, ticks: 20 })
    })

    it('leaves a batch to the instance that took it over in the meantime', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      await world.write(0, 10)
      await world.write(10, 10)
      const goesOn = Promise.withResolvers<void>()
      const isAtWork = Promise.withResolvers<void>()
      const watched = await world.started({
        ...fromStorage(),
        insertBatchSize: 20,
        flushTimeout: '1h',
        definition: {
          ...dummyIndexer,
          async flush(ticks, tx, flush) {
            isAtWork.resolve()
            await goesOn.promise
            await dummyIndexer.flush(ticks, tx, flush)
          },
          prepare: dummyIndexer.prepare,
        },
        indexOptions: { durability: 'process', busyTimeout: '30s' },
        ledger: { claimTimeout: '5m' },
      })
      if (engine.name === 'SQLite') {
        // Its flush holds the file: nobody can take anything over meanwhile, so there is nothing to see.
        goesOn.resolve()
        await ackedAre(watched, 0, 10)
        return
      }
      await isAtWork.promise
      await letTimePass(world.place, 600_000)
      const other = await ledgerOf(await world.place.open())
      const taken = await other.claimNext('other')
      assert.deepEqual([taken?.tickStart, taken?.isTakenOver], [0, true])
      goesOn.resolve()
      await ackedAre(watched, 10)
      await world.assertIndexed({ batches: 1, ticks: 10 })
      assert.equal((await other.batch(taken?.key ?? ''))?.claimer, 'other')
    })

    it('releases what it holds when it stops', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      await world.write(0, 10)
      const watched = await world.started({
        ...fromStorage(),
        source: storageSource({ scanInterval: 10, retryDelay: '1h' }),
        definition: {
          ...dummyIndexer,
          async flush() {
            throw new Error('Not today')
          },
        },
      })
      await metric(watched, 'batchesFailed', 1)
      await watched.indexer.stop()
      const ledger = await ledgerOf(await world.place.open())
      assert.equal((await ledger.counts()).ready, 1)
    })

    it('needs the metadata component', async () => {
      await using world = await World.on(engine)
      const definition = { ...dummyIndexer, components: ['buffering'] } as const
      assert.throws(() => world.indexer({ ...fromStorage(), definition }), /metadata/)
    })
  })

  describe(`gaps with the topic as the source, on ${engine.name}`, () => {
    it('are none before the first batch, whatever its tick', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      const ledger = { gapWarningTimeout: QUICK_LOOKS }
      const watched = await world.started({ insertBatchSize: 10, flushTimeout: 30, ledger })
      await world.produce(2, 10, 10)
      await ackedAre(watched, 10, 20)
      await world.produce(1, 10, 40)
      await ackedAre(watched, 10, 20, 40)
      await metric(watched, 'openGaps', 1)
      const gaps = await (await ledgerOf(await world.place.open())).gaps()
      assert.deepEqual(
        gaps.map(({ tickStart, tickEnd }) => [tickStart, tickEnd]),
        [[30, 39]],
      )
    })

    it('delay nothing, are known, and are reported as permanent after gapWarningTimeout', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      const watched = world.indexer({ insertBatchSize: 10, flushTimeout: 30, ledger: { gapWarningTimeout: 100 } })
      const gaps = gapsOf(watched)
      await watched.indexer.start()
      await world.produce(1, 10)
      await world.produce(1, 10, 30)
      await ackedAre(watched, 0, 30)
      await metric(watched, 'openGaps', 1)
      await metric(watched, 'permanentGaps', 1)
      await until(() => gaps.length === 1, { what: 'the event' })
      assert.deepEqual([gaps[0]?.tickStart, gaps[0]?.tickEnd], [10, 29])
      await world.produce(2, 10, 10)
      await metric(watched, 'openGaps', 0)
      const ledger = await ledgerOf(await world.place.open())
      assert.deepEqual(await ledger.processedRanges(), [{ tickStart: 0, tickEnd: 39 }])
      assert.equal(gaps.length, 1)
    })
  })
}
