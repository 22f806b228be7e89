import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  batchEnvelope,
  MetadataIndexer,
  makeRunId,
  metadataEnvelope,
  type StoredBatch,
  topicOfRun,
} from '@tidemark/pipeline'
import { until } from '../../../../testing/until.ts'
import { ENGINES } from '../engines.ts'
import { ackedAre, metric, SILENT, World } from './world.ts'

const BATCHES = 6

for (const engine of ENGINES) {
  describe(`two runs at once, on ${engine.name}`, () => {
    it('never mix: each indexer receives the announcements of its own run only', async () => {
      await using world = await World.on(engine)
      const other = makeRunId()
      await world.indexMetadata()
      const second = await world.place.open({}, other)
      await second.metadata.write(world.metadata(other))
      const mine = await world.started({ insertBatchSize: 10 })
      const theirs = await world.started({ insertBatchSize: 10, runId: other })
      // In turns, so that neither has a stretch of the topics to itself.
      for (let at = 0; at < BATCHES; at++) {
        await world.announce(await world.write(at * 10, 10))
        await world.announce(await world.write(at * 10, 10, other))
      }
      const starts = Array.from({ length: BATCHES }, (_, at) => at * 10)
      await ackedAre(mine, ...starts)
      await ackedAre(theirs, ...starts)
      for (const [watched, runId] of [
        [mine, world.runId],
        [theirs, other],
      ] as const) {
        assert.equal(watched.indexer.status().metrics.batchesReceived, BATCHES)
        const { messagesPublished, groups } = await world.tidemark.admin.describeTopic(topicOfRun('batch-topic', runId))
        assert.equal(messagesPublished, BATCHES)
        assert.deepEqual(
          groups.map(({ group }) => group),
          ['dummy'],
        )
      }
      await world.assertIndexed({ batches: BATCHES, ticks: BATCHES * 10 })
    })

    it('refuse announcements on the wrong topic by name, and index nothing of them', async () => {
      await using world = await World.on(engine)
      const other = makeRunId()
      await world.indexMetadata()
      const astray: StoredBatch = await world.write(0, 10, other)
      const watched = await world.started({ insertBatchSize: 10 })
      const told = new Promise<string>(resolve =>
        watched.indexer.listen(event => event.type === 'error' && resolve(event.error.message)),
      )
      await world.tidemark.publish(world.batchTopic, batchEnvelope(astray))
      assert.match(await told, new RegExp(`to run ${other}, but is on the topic of run ${world.runId}`))
      await world.produce(1, 10)
      await ackedAre(watched, 0)
      await world.assertIndexed({ batches: 1, ticks: 10 })
    })

    it('have separate metadata, too', async () => {
      await using world = await World.on(engine)
      const other = makeRunId()
      const { storage, tidemark, runId, place } = world
      const stored = await storage.writeMetadata(world.metadata(other))
      await using indexer = new MetadataIndexer({ storage, tidemark, runId, index: place.address, logger: SILENT })
      await indexer.start()
      await tidemark.publish(world.metadataTopic, metadataEnvelope(stored))
      await until(() => (indexer.status().metrics.metadataFailed ?? 0) > 0, { what: 'the refusal' })
      await world.announceMetadata()
      await until(() => indexer.status().metrics.metadataWritten === 1, { what: 'its own metadata' })
      const database = await place.open()
      assert.deepEqual(await database.metadata.read(), world.metadata())
    })
  })

  describe(`a continued run, on ${engine.name}`, () => {
    it('indexes what was missing, and reads nothing else, although its group is gone', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      const first = await world.started({ insertBatchSize: 10 })
      await world.produce(3, 10)
      await ackedAre(first, 0, 10, 20)
      await first.indexer.stop()
      await world.produce(2, 10, 30)
      await world.tidemark.admin.removeGroup(world.batchTopic, 'dummy')
      const again = await world.started({ insertBatchSize: 10 })
      await ackedAre(again, 30, 40)
      await metric(again, 'batchesSkipped', 3)
      assert.deepEqual(
        again.flushes.flat(),
        Array.from({ length: 20 }, (_, n) => 30 + n),
      )
      assert.equal(await world.unacked(), 0)
      await world.assertIndexed({ batches: 5, ticks: 50 })
    })
  })
}
