import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { dummyIndexer } from '@tidemark/pipeline'
import { until } from '../../../../testing/until.ts'
import { ENGINES } from '../engines.ts'
import { range } from '../storage/ticks.ts'
import { ackedAre, metric, World } from './world.ts'

for (const engine of ENGINES) {
  describe(`buffering, on ${engine.name}`, () => {
    it('size flush: flushes when there are insertBatchSize ticks, and not before', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      const watched = await world.started({ insertBatchSize: 200 })
      await world.produce(1, 100)
      await metric(watched, 'bufferedTicks', 100)
      assert.deepEqual([watched.flushes.length, watched.acked.length, await world.unacked()], [0, 0, 1])
      await world.produce(1, 100, 100)
      await ackedAre(watched, 0, 100)
      assert.deepEqual(watched.flushes, [range(0, 200)])
      assert.equal(await world.unacked(), 0)
      await world.assertIndexed({ batches: 2, ticks: 200 })
    })

    it('cross-batch acks: 3 × 100 ticks with 250 per flush ack exactly the first two', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      await world.produce(3, 100)
      const watched = await world.started({ insertBatchSize: 250 })
      await metric(watched, 'bufferedTicks', 50)
      await ackedAre(watched, 0, 100)
      assert.equal(await world.unacked(), 1)
      await world.assertIndexed({ batches: 2, ticks: 250 })
      await world.produce(2, 100, 300)
      await ackedAre(watched, 0, 100, 200, 300, 400)
      assert.deepEqual(watched.flushes, [range(0, 250), range(250, 250)])
      await world.assertIndexed({ batches: 5, ticks: 500 })
    })

    it('timeout flush: buffered ticks are flushed after flushTimeout, and complete batches acked', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      const watched = await world.started({ insertBatchSize: 1_000, flushTimeout: 50 })
      await world.produce(1, 30)
      await ackedAre(watched, 0)
      assert.deepEqual(watched.flushes, [range(0, 30)])
    })

    it('flushes by bytes, however few ticks there are', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      await world.produce(1, 10)
      const watched = await world.started({ insertBatchSize: 1_000, maxBufferBytes: 300 })
      await until(() => watched.flushes.length > 1, { what: 'flushes' })
      const [first = []] = watched.flushes
      assert.ok(first.length > 1 && first.length < 5, `${first.length} ticks in the first flush`)
      assert.ok((watched.indexer.status().metrics.bufferedBytes ?? 0) < 300)
    })

    it('final flush: on stop the buffer is flushed, and the batches thereby completed are acked', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      await world.produce(3, 100)
      const watched = await world.started({ insertBatchSize: 1_000 })
      await metric(watched, 'bufferedTicks', 300)
      assert.equal(watched.flushes.length, 0)
      await watched.indexer.stop()
      assert.equal(watched.indexer.state, 'STOPPED')
      assert.deepEqual(watched.flushes, [range(0, 300)])
      assert.deepEqual(watched.acked, [0, 100, 200])
      assert.equal(await world.unacked(), 0)
      await world.assertIndexed({ batches: 3, ticks: 300 })
    })

    it('on stop a partly read batch is not acked, and is completely indexed by the next start', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      await world.produce(2, 100)
      const stop = Promise.withResolvers<void>()
      const reached = Promise.withResolvers<void>()
      const watched = await world.started({
        insertBatchSize: 30,
        definition: {
          ...dummyIndexer,
          async flush(ticks, tx, flush) {
            await dummyIndexer.flush(ticks, tx, flush)
            if (ticks.some(({ tick }) => tick === 140)) {
              reached.resolve()
              await stop.promise
            }
          },
        },
      })
      await reached.promise
      const stopped = watched.indexer.stop()
      stop.resolve()
      await stopped
      assert.deepEqual(watched.acked, [0])
      assert.equal(await world.unacked(), 1)
      const next = await world.started({ insertBatchSize: 30 })
      await ackedAre(next, 100)
      await world.assertIndexed({ batches: 2, ticks: 200 })
    })

    for (const insertBatchSize of [1, 7, 10, 64, 1_000]) {
      it(`insert size ${insertBatchSize}, smaller or larger than batches of 10, gives the same index`, async () => {
        await using world = await World.on(engine)
        await world.indexMetadata()
        await world.produce(20, 10)
        const watched = await world.started({ insertBatchSize, flushTimeout: 50 })
        await until(() => watched.acked.length === 20, { what: '20 acks' })
        assert.deepEqual(watched.acked, range(0, 20, 10))
        assert.deepEqual(watched.flushes.flat(), range(0, 200))
        const largest = Math.max(...watched.flushes.map(({ length }) => length))
        assert.ok(largest <= insertBatchSize, `${largest} ticks in one flush`)
        await world.assertIndexed({ batches: 20, ticks: 200 })
      })
    }

    it('without buffering each tick is flushed alone, and the batch acked once', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      await world.produce(2, 5)
      const watched = await world.started({ definition: { ...dummyIndexer, components: ['metadata'] } })
      await ackedAre(watched, 0, 5)
      assert.deepEqual(
        watched.flushes,
        range(0, 10).map(tick => [tick]),
      )
      await world.assertIndexed({ batches: 2, ticks: 10 })
    })

    it('a pause flushes the buffer, and nothing more is indexed until it ends', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      const watched = await world.started({ insertBatchSize: 1_000 })
      await world.produce(1, 10)
      await metric(watched, 'bufferedTicks', 10)
      watched.indexer.pause()
      await world.produce(1, 10, 10)
      await until(() => watched.acked.length > 0, { what: 'the buffer to be flushed' })
      const { length } = watched.acked
      await world.produce(1, 10, 20)
      assert.equal(watched.acked.length, length)
      watched.indexer.resume()
      // The second may have come before the pause or after it.
      const { indexer } = watched
      const known = () => (indexer.status().metrics.bufferedTicks ?? 0) + (indexer.status().metrics.ticksIndexed ?? 0)
      await until(() => known() === 30, { what: 'all three to be read' })
      await watched.indexer.stop()
      assert.deepEqual(watched.acked, [0, 10, 20])
    })
  })
}
