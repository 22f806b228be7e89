import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { cleanerOf, DAY, KEPT_A_DAY, scenario } from './cleaning.ts'
import type { ConformanceStores } from './conformance-store.ts'
import { consume, range } from './consuming.ts'

export function cleanUp({ secluded }: ConformanceStores): void {
  for (const store of secluded) {
    describe(`the clean-up on ${store.name}`, () => {
      scenario(store, 'deletes in batches, and goes on until none is full', async (database, _, tm) => {
        await using cleaner = await cleanerOf(database, 10)
        await tm.configureTopic('events', KEPT_A_DAY)
        await tm.publishBatch('events', range(1, 95))
        await cleaner.age('events', 2 * DAY)
        assert.equal((await cleaner.run()).removed, 95)
      })
    })

    describe(`publishes during the clean-up on ${store.name}`, () => {
      scenario(store, 'every message published meanwhile is delivered', async (_, cleaner, tm) => {
        await tm.configureTopic('events', { ...KEPT_A_DAY, retention: 0, lease: 0 })
        const reader = tm.reader<number>('events', { group: 'g', from: 'beginning' })
        await reader.ready()
        const got: number[] = []
        for (let round = 0; round < 15; round++) {
          const publishing = tm.publishBatch('events', range(round * 10 + 1, round * 10 + 10))
          await Promise.all([publishing, cleaner.runOnce()])
          got.push(...(await consume(reader, 10)))
        }
        assert.deepEqual(got, range(1, 150))
      })
    })

    describe(`a topic that grows without end on ${store.name}`, () => {
      scenario(
        store,
        'a topic whose groups never move is bounded by maxRetention, and the loss is visible',
        async (_, cleaner, tm) => {
          await tm.configureTopic('events', KEPT_A_DAY)
          await tm.reader('events', { group: 'stuck', from: 'beginning' }).ready()
          await tm.publishBatch('events', range(1, 50))
          await cleaner.age('events', 29 * DAY)
          assert.equal((await cleaner.run()).removed, 0)
          await cleaner.age('events', 2 * DAY)
          assert.deepEqual(await cleaner.run(), { removed: 50, lost: 50 })
          assert.equal(await cleaner.lost('events', 'stuck'), 50)
          const told = cleaner.events['messages-lost'].reduce((sum, { count }) => sum + count, 0)
          assert.equal(told, 50)
          assert.ok(cleaner.events['messages-lost'].every(({ reason }) => reason === 'max-retention'))
        },
      )

      scenario(store, 'a topic without any subscription is bounded too', async (_, cleaner, tm) => {
        await tm.configureTopic('events', { ...KEPT_A_DAY, zeroSubscriptionRetention: 'forever', maxRetention: '30d' })
        await tm.publishBatch('events', range(1, 50))
        await cleaner.age('events', 29 * DAY)
        assert.equal((await cleaner.run()).removed, 0)
        await cleaner.age('events', 2 * DAY)
        assert.deepEqual(await cleaner.run(), { removed: 50, lost: 0 })
      })
    })

    describe(`a busy topic beside a quiet one on ${store.name}`, () => {
      scenario(
        store,
        'every topic has a log of its own: cleaning a hot one reads and changes no other',
        async (_database, cleaner, tm) => {
          for (const topic of ['orders', 'users']) await tm.configureTopic(topic, KEPT_A_DAY)
          await tm.publishBatch('orders', range(1, 400))
          await tm.publishBatch('users', range(1, 5))
          await cleaner.age('orders', 2 * DAY)
          assert.equal((await cleaner.run()).removed, 400)
          assert.deepEqual(await cleaner.kept('users'), range(1, 5))
        },
      )

      scenario(store, 'a busy topic, cleaned all the while, does not starve a quiet one', async (_, cleaner, tm) => {
        await tm.configureTopic('busy', { ...KEPT_A_DAY, retention: 0, lease: 0, partitionRows: 200 })
        await tm.configureTopic('quiet', KEPT_A_DAY)
        const busy = ['one', 'two', 'three'].map(group => tm.consumerGroup('busy', group, { batchSize: 100 }))
        for (const group of busy) group.addConsumer('only', () => {})
        await Promise.all(busy.map(group => group.start({ from: 'beginning' })))
        const quiet = tm.reader<number>('quiet', { group: 'g', from: 'beginning' })
        await quiet.ready()
        let published = 0
        let isRunning = true
        const publishing = (async () => {
          while (isRunning) published += (await tm.publishBatch('busy', range(1, 100))).length
        })()
        const cleaning = (async () => {
          while (isRunning) await cleaner.runOnce()
        })()
        // One by one, each delivered before the next is published: behind the busy group's backlog it would never be
        // delivered.
        for (let n = 1; n <= 20 || published <= 1_000; n++) {
          await tm.publish('quiet', n)
          assert.deepEqual(await consume(quiet, 1), [n])
        }
        isRunning = false
        await Promise.all([publishing, cleaning])
      })
    })

    describe(`partitions of days on ${store.name}`, () => {
      scenario(
        store,
        'ten days, three groups, seven days kept; one group dies on the ninth',
        async (database, cleaner, tm) => {
          const daily = 40
          await tm.configureTopic('orders', { ...KEPT_A_DAY, retention: '7d', partitionRows: daily })
          const readers = ['a', 'b', 'c'].map(group => tm.reader<number>('orders', { group, from: 'beginning' }))
          for (const reader of readers) await reader.ready()
          const kept: number[] = []
          for (let day = 1; day <= 10; day++) {
            await tm.publishBatch('orders', range(day * daily + 1, day * daily + daily))
            for (const [index, reader] of readers.entries()) if (index < 2 || day < 9) await consume(reader, daily)
            await cleaner.age('orders', DAY)
            await cleaner.run()
            kept.push((await cleaner.kept('orders')).length)
          }
          // Nothing is removed in the first seven days; then one day's messages each day, or whatever shares a
          // partition with them.
          assert.deepEqual(
            kept.slice(0, 6),
            [1, 2, 3, 4, 5, 6].map(days => days * daily),
          )
          assert.ok(
            kept.slice(7).every(count => count <= 8 * daily),
            `kept ${kept}`,
          )
          await cleaner.age('orders', 8 * DAY)
          await cleaner.run()
          const pinned = await cleaner.kept('orders')
          assert.deepEqual(pinned.slice(-2 * daily), range(9 * daily + 1, 11 * daily))
          await database.setStatus('c', 'DEAD')
          await cleaner.run()
          assert.deepEqual(await cleaner.kept('orders'), [])
        },
      )
    })
  }
}
