import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  configureNotificationTopic,
  type DeadLetter,
  DeadLetterQueue,
  deadLettersTo,
  storageSource,
} from '@tidemark/pipeline'
import { until } from '../../../../testing/until.ts'
import { ENGINES } from '../engines.ts'
import { ackedAre, failing, metric, World } from './world.ts'

for (const engine of ENGINES) {
  describe(`a poison batch on ${engine.name}`, () => {
    it('a poison batch goes to the dead letters after retries that competing indexers count together', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      let attempts = 0
      const isPoison = (tick: number) => {
        if (tick !== 15) return false
        attempts++
        return true
      }
      const letters: DeadLetter[] = []
      const setup = {
        insertBatchSize: 10,
        maxRetries: 3,
        definition: failing(isPoison, { components: ['metadata', 'buffering', 'dlq'] }),
        deadLetters: async (letter: DeadLetter) => void letters.push(letter),
      }
      const indexers = [await world.started(setup), await world.started(setup)]
      await world.produce(4, 10)
      const sum = (name: string) =>
        indexers.reduce((total, { indexer }) => total + (indexer.status().metrics[name] ?? 0), 0)
      await until(() => sum('batchesDeadLettered') === 1 && sum('batchesIndexed') === 3, { what: 'all to be settled' })
      assert.equal(attempts, 4)
      assert.equal(letters.length, 1)
      const [letter] = letters
      assert.deepEqual([letter?.retryCount, letter?.sourceService], [4, 'dummy'])
      assert.match(letter?.failureReason ?? '', /This tick is poison/)
      assert.match(letter?.messageType ?? '', /BatchInfo$/)
      assert.equal(await world.unacked(), 0)
      await world.assertIndexed({ batches: 3, ticks: 30 })
    })

    it('a dead letter that could not be stored is retried with the batch, which is not acked before', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      let letters = 0
      const watched = await world.started({
        insertBatchSize: 10,
        maxRetries: 0,
        definition: failing(() => true, { components: ['metadata', 'buffering', 'dlq'] }),
        deadLetters: async () => {
          if (letters++ === 0) throw new Error('The letter box is full')
        },
      })
      await world.produce(1, 10)
      await metric(watched, 'batchesDeadLettered', 1)
      assert.deepEqual([letters, watched.indexer.status().metrics.batchesFailed], [2, 2])
      assert.equal(await world.unacked(), 0)
    })

    it('kills do not count against the batch that was held', async () => {
      await using world = await World.on(engine, { lease: 50 })
      await world.indexMetadata()
      const setup = {
        insertBatchSize: 10,
        maxRetries: 1,
        definition: failing(() => false, { components: ['metadata', 'buffering', 'dlq'] }),
        deadLetters: async () => assert.fail('Nothing failed'),
      }
      await world.produce(1, 10)
      await configureNotificationTopic(world.tidemark, world.batchTopic)
      // What a killed process leaves behind is a lease that runs out.
      const reader = world.tidemark.reader(world.batchTopic, { group: 'dummy', from: 'beginning' })
      for (let attempt = 0; attempt < 10; ) attempt = (await reader.poll(10_000))?.attempt ?? assert.fail('It is gone')
      await reader.close()
      const next = await world.started(setup)
      await ackedAre(next, 0)
      assert.equal(next.indexer.status().metrics.batchesFailed, 0)
      await world.assertIndexed({ batches: 1, ticks: 10 })
    })

    it('a success clears earlier failures', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      const batch = await world.write(0, 10)
      let failures = 2
      const watched = await world.started({
        insertBatchSize: 10,
        maxRetries: 2,
        definition: failing(tick => tick === 5 && failures-- > 0, { components: ['metadata', 'buffering', 'dlq'] }),
        deadLetters: async () => assert.fail('No batch failed more than twice'),
      })
      await world.announce(batch)
      await ackedAre(watched, 0)
      failures = 2
      await world.announce(batch)
      await ackedAre(watched, 0, 0)
      assert.equal(watched.indexer.status().metrics.batchesFailed, 4)
    })

    it('innocent batches that shared a flush with a poison one are indexed', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      await world.produce(5, 10)
      const watched = await world.started({
        insertBatchSize: 50,
        maxRetries: 1,
        definition: failing(tick => tick === 25, { components: ['metadata', 'buffering', 'dlq'] }),
        deadLetters: deadLettersTo(world.tidemark),
      })
      await metric(watched, 'batchesDeadLettered', 1)
      await metric(watched, 'batchesIndexed', 4)
      assert.deepEqual(
        watched.acked.toSorted((a, b) => a - b),
        [0, 10, 30, 40],
      )
      const letters = await (await DeadLetterQueue.open(world.tidemark, { topic: 'indexer-dead-letters' })).list()
      assert.deepEqual(
        letters.map(({ sourceService, messageType }) => [sourceService, messageType.split('.').at(-1)]),
        [['dummy', 'BatchInfo']],
      )
    })

    it('with the storage source a batch that keeps failing is marked failed, and others continue', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      for (const start of [0, 10, 20]) await world.write(start, 10)
      const watched = await world.started({
        insertBatchSize: 10,
        source: storageSource({ scanInterval: 20, maxAttempts: 3, retryDelay: 1 }),
        definition: failing(tick => tick === 15),
        flushTimeout: 50,
      })
      await until(() => watched.acked.length === 2 && watched.indexer.status().metrics.batchesFailed === 3, {
        what: 'two acks and three failures',
      })
      const rows = await world.place.execute(`select status from run.batch_processing order by tick_start`)
      await until(
        async () => {
          const [row] = await world.place.execute(
            `select count(*) as n from run.batch_processing where status = 'failed'`,
          )
          return Number(row?.n) === 1
        },
        { what: `a failed batch among ${JSON.stringify(rows)}` },
      )
    })
  })
}
