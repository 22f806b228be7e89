import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { dummyIndexer } from '@tidemark/pipeline'
import { until } from '../../../../testing/until.ts'
import { ENGINES } from '../engines.ts'
import { range } from '../storage/ticks.ts'
import { ackedAre, metric, World } from './world.ts'

for (const engine of ENGINES) {
  describe(`redelivery on ${engine.name}`, () => {
    it('gives the identical index, also with other flush boundaries', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      const batches = [await world.write(0, 10), await world.write(10, 10), await world.write(20, 10)]
      const watched = await world.started({ insertBatchSize: 7, flushTimeout: 50 })
      for (const batch of batches) await world.announce(batch)
      await until(() => watched.acked.length === 3, { what: 'three acks' })
      const before = await world.rows()
      for (const batch of [...batches.toReversed(), ...batches]) await world.announce(batch)
      await until(() => watched.acked.length === 9, { what: 'nine acks' })
      assert.deepEqual(await world.rows(), before)
      await world.assertIndexed({ batches: 3, ticks: 30 })
    })

    it('a batch that arrives twice within one buffer is flushed twice', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      const batch = await world.write(0, 10)
      await world.announce(batch)
      await world.announce(batch)
      const watched = await world.started({ insertBatchSize: 1_000, flushTimeout: 100 })
      await ackedAre(watched, 0, 0)
      assert.deepEqual(watched.flushes, [range(0, 10), range(0, 10)])
    })

    it('with idempotency a batch that was indexed is not read again; it is marked after the ack only', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      const components = ['metadata', 'buffering', 'idempotency'] as const
      const batch = await world.write(0, 10)
      const watched = await world.started({ insertBatchSize: 20, definition: { ...dummyIndexer, components } })
      await world.announce(batch)
      await metric(watched, 'bufferedTicks', 10)
      const marked = async () => (await world.place.execute('select item_key from run.processed_key')).length
      assert.equal(await marked(), 0)
      await world.produce(1, 10, 10)
      await ackedAre(watched, 0, 10)
      assert.equal(await marked(), 2)
      await world.announce(batch)
      await metric(watched, 'batchesSkipped', 1)
      assert.equal(watched.flushes.length, 1)
      assert.equal(await world.unacked(), 0)
    })
  })
}
