import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { NoSubscriptionsError, PayloadTooLargeError, type Tidemark, type TransactionHandle } from '../index.ts'
import type { ConformanceDatabase, ConformanceStores } from './conformance-store.ts'
import { collect, consume, eventsOf, range } from './consuming.ts'
import { letDie } from './dying.ts'
import { it } from './it.ts'

export function zeroSubscriptions({ stores, shared }: ConformanceStores): void {
  for (const store of stores) {
    describe(store.name, () => {
      describe('a topic that blocks publishing without a subscription', () => {
        it('rejects every publish until there is one, and stores nothing', async () => {
          await using database = await store.fresh()
          const tm = await blocking(await database.open())
          const attempts = [
            tm.publish('events', 1),
            tm.publishBatch('events', [2, 3]),
            tm.publish('events', 4, { messageId: 'four' }),
          ]
          for (const attempt of attempts) {
            await assert.rejects(attempt, (error: unknown) => {
              assert.ok(error instanceof NoSubscriptionsError)
              assert.deepEqual([error.topic, error.code], ['events', 'TIDEMARK_NO_SUBSCRIPTIONS'])
              assert.match(error.message, /Start a consumer group first/)
              return true
            })
          }
          const reader = await tm.reader('events', { group: 'g', from: 'beginning' }).ready()
          await tm.publishBatch('events', [5, 6])
          await tm.publish('events', 7, { messageId: 'four' })
          assert.deepEqual(await consume(reader, 3), [5, 6, 7])
        })

        it('takes messages for a paused group, and none for a cancelled one', async () => {
          await using database = await store.fresh()
          const tm = await blocking(await database.open())
          const group = tm.consumerGroup('events', 'g')
          collect(group)
          await group.start()
          await group.pause()
          await tm.publish('events', 1)
          await group.cancel()
          await assert.rejects(tm.publish('events', 2), NoSubscriptionsError)
        })

        it('is not a queue', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await assert.rejects(tm.configureTopic('work', { blockPublishWithoutSubscription: true }), {
            code: 'TIDEMARK_CONFIG',
          })
        })
      })
    })
  }

  for (const store of shared) {
    describe(store.name, () => {
      it('rejects a publish inside a caller’s transaction too, which stays usable and unchanged', async () => {
        await using database = await store.fresh()
        const tm = await blocking(await database.open())
        await inTransaction(database, async tx => {
          await assert.rejects(tm.publish('events', 1, { tx }), NoSubscriptionsError)
          await assert.rejects(tm.publishBatch('events', [1, 2], { tx }), NoSubscriptionsError)
        })
        const reader = await tm.reader('events', { group: 'g', from: 'beginning' }).ready()
        await inTransaction(database, tx => tm.publish('events', 2, { tx }))
        assert.deepEqual(await consume(reader, 1), [2])
        assert.equal(await reader.poll(0), null)
      })

      it('rejects a publish while the only group is dead', async () => {
        await using database = await store.fresh()
        const tm = await blocking(await database.open())
        await (await tm.reader('events', { group: 'g' }).ready()).close()
        await tm.publish('events', 1)
        await letDie(tm, database)
        await assert.rejects(tm.publish('events', 2), NoSubscriptionsError)
        assert.deepEqual(await consume(tm.reader('events', { group: 'g' }), 1), [1])
        await tm.publish('events', 3)
      })

      describe('a topic that another instance reconfigures', () => {
        it('is published to with its new settings at once, also in a caller’s transaction', async () => {
          await using database = await store.fresh()
          const [here, there] = [await database.open(), await database.open()]
          await here.configureTopic('events', { semantics: 'pub-sub' })
          await here.publish('events', 1)
          await inTransaction(database, tx => here.publish('events', 2, { tx }))
          await there.configureTopic('events', { blockPublishWithoutSubscription: true })
          await assert.rejects(here.publish('events', 3), NoSubscriptionsError)
          await assert.rejects(here.publish('events', 3, { messageId: 'three' }), NoSubscriptionsError)
          await inTransaction(database, tx => assert.rejects(here.publish('events', 3, { tx }), NoSubscriptionsError))
          await there.configureTopic('events', { blockPublishWithoutSubscription: false, maxMessageBytes: 10 })
          await here.publish('events', 4)
          await inTransaction(database, tx => here.publish('events', 5, { tx }))
          await assert.rejects(here.publish('events', 'longer than ten bytes'), PayloadTooLargeError)
          const reader = here.reader('events', { group: 'g', from: 'beginning' })
          assert.deepEqual(await consume(reader, 4), [1, 2, 4, 5])
        })

        it('loses and repeats nothing while it changes all the time', async () => {
          await using database = await store.fresh()
          const [here, there] = [await database.open(), await database.open()]
          await here.configureTopic('events', { semantics: 'pub-sub' })
          const reader = await here.reader('events', { group: 'g', batchSize: 50 }).ready()
          let changing = true
          const change = async () => {
            for (let n = 1; changing; n++) await there.configureTopic('events', { maxAttempts: 5 + (n % 2) })
          }
          const changes = change()
          try {
            for (const n of range(1, 100)) await here.publish('events', n)
          } finally {
            changing = false
            await changes
          }
          assert.deepEqual(await consume(reader, 100), range(1, 100))
          assert.equal(await reader.poll(0), null)
        })
      })

      it('reports once a topic that keeps messages and has no live group', async () => {
        await using database = await store.fresh()
        const tm = await database.open()
        await tm.configureTopic('events', { semantics: 'pub-sub' })
        await tm.configureTopic('empty', { semantics: 'pub-sub' })
        await tm.publishBatch('work', [1])
        await tm.publishBatch('events', [1, 2, 3])
        const told = eventsOf(tm, 'topic-unsubscribed')
        const detect = () => tm.admin.jobs['dead-groups'].runOnce()
        assert.equal((await detect()).unsubscribed, 1)
        assert.equal((await detect()).unsubscribed, 1)
        assert.deepEqual(
          told.map(({ topic, messages }) => ({ topic, messages })),
          [{ topic: 'events', messages: 3 }],
        )
        assert.ok(Math.abs((told[0]?.oldestAt.getTime() ?? 0) - Date.now()) < 60_000)
        const group = tm.consumerGroup('events', 'g')
        collect(group)
        await group.start()
        assert.equal((await detect()).unsubscribed, 0)
        await group.cancel()
        await detect()
        assert.equal(told.length, 2)
      })
    })
  }
}

async function blocking(tm: Tidemark): Promise<Tidemark> {
  await tm.configureTopic('events', { semantics: 'pub-sub', blockPublishWithoutSubscription: true })
  return tm
}

/** In the caller's own transaction, which commits. */
async function inTransaction(
  database: ConformanceDatabase,
  work: (tx: TransactionHandle) => Promise<unknown>,
): Promise<void> {
  const { tx, commit, rollBack } = await database.begin()
  try {
    await work(tx)
  } catch (error) {
    await rollBack()
    throw error
  }
  await commit()
}
