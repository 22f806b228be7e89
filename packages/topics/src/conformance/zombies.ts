import assert from 'node:assert/strict'
import { describe } from 'node:test'
import type { SubscriptionRecord } from '../stores/subscription-record.ts'
import { type Cleaner, DAY, KEPT_A_DAY, scenario } from './cleaning.ts'
import type { ConformanceStores } from './conformance-store.ts'
import { consume, groupOf, range, receive } from './consuming.ts'

export function zombies({ secluded }: ConformanceStores): void {
  for (const store of secluded) {
    describe(`a zombie on ${store.name}`, () => {
      scenario(store, 'a DEAD subscription pins nothing', async (database, cleaner, tm) => {
        await tm.configureTopic('events', KEPT_A_DAY)
        await tm.reader('events', { group: 'zombie', from: 'beginning' }).ready()
        const live = tm.reader('events', { group: 'live', from: 'beginning' })
        await tm.publishBatch('events', range(1, 50))
        await consume(live, 50)
        await cleaner.age('events', 2 * DAY)
        assert.equal((await cleaner.run()).removed, 0)
        await database.setStatus('zombie', 'DEAD')
        assert.equal((await cleaner.run()).removed, 50)
      })

      scenario(
        store,
        'a live group that has not moved for its TTL is reported, and nothing else',
        async (database, cleaner, tm) => {
          await tm.configureTopic('events', KEPT_A_DAY)
          const groups = ['stuck', 'quick', 'resumed']
          for (const group of groups) await tm.reader('events', { group, from: 'beginning' }).ready()
          await tm.publishBatch('events', range(1, 30))
          await consume(tm.reader('events', { group: 'quick' }), 30)
          await cleaner.age('events', 8 * DAY)
          assert.deepEqual(await cleaner.store.subscriptions.zombies(), [], 'they have only just moved')
          await database.ageGroups(8 * DAY)
          await tm.admin.pauseGroup('events', 'resumed')
          await tm.admin.resumeGroup('events', 'resumed')
          const zombies = await cleaner.store.subscriptions.zombies()
          assert.deepEqual(
            zombies.map(({ topic, subscription, waiting }) => [topic.name, subscription.group, waiting]),
            [['events', 'stuck', 30]],
          )
          assert.ok(Date.now() - (zombies[0]?.movedAt ?? 0) > 7 * DAY)
          await tm.admin.jobs.subscriptions.runOnce()
          assert.equal(await cleaner.lost('events', 'stuck'), 0)
          assert.equal((await groupOf(tm, 'events', 'stuck')).backlog, 30)
        },
      )

      scenario(
        store,
        'a message that has only just come to a quiet topic makes no zombie',
        async (database, cleaner, tm) => {
          await tm.configureTopic('events', KEPT_A_DAY)
          const reader = tm.reader('events', { group: 'g', from: 'beginning' })
          await tm.publishBatch('events', range(1, 30))
          await consume(reader, 30)
          await cleaner.age('events', 8 * DAY)
          await database.ageGroups(8 * DAY)
          await tm.publish('events', 31)
          assert.deepEqual(await cleaner.store.subscriptions.zombies(), [])
        },
      )

      scenario(store, 'a retry that is long due and not fetched makes one', async (database, cleaner, tm) => {
        await tm.configureTopic('events', KEPT_A_DAY)
        const reader = tm.reader('events', { group: 'g', from: 'beginning' })
        await tm.publish('events', 1)
        await (await receive(reader)).nack('later', { delay: '1h' })
        await reader.close()
        await database.ageGroups(8 * DAY)
        await database.makeRetriesDue()
        assert.deepEqual(
          (await cleaner.store.subscriptions.zombies()).map(({ waiting }) => waiting),
          [1],
        )
      })

      scenario(
        store,
        'force-advanced, it has lost exactly what it had not processed, and goes on with what is new',
        async (database, cleaner, tm) => {
          await tm.configureTopic('events', { ...KEPT_A_DAY, advanceZombies: true })
          const reader = tm.reader('events', { group: 'g', from: 'beginning', batchSize: 1 })
          await tm.publishBatch('events', range(1, 30))
          const held = await receive(reader)
          await (await receive(reader)).nack('later', { delay: '1h' })
          await consume(reader, 5)
          const [topic, subscription] = [await cleaner.topic('events'), await subscriptionOf(cleaner, 'events', 'g')]
          assert.equal(await cleaner.store.subscriptions.forceAdvance(topic, subscription), 25)
          assert.equal(await cleaner.lost('events', 'g'), 25)
          await assert.rejects(held.ack(), { code: 'TIDEMARK_STALE_DELIVERY' })
          const { backlog, inFlight, retries } = await groupOf(tm, 'events', 'g')
          assert.deepEqual({ backlog, inFlight, retries }, { backlog: 0, inFlight: 0, retries: 0 })
          await tm.publish('events', 'new')
          const there = (await database.open()).reader('events', { group: 'g' })
          assert.deepEqual(await consume(there, 1), ['new'])
          await cleaner.age('events', 2 * DAY)
          assert.deepEqual(await cleaner.run(), { removed: 31, lost: 0 })
          assert.equal(await cleaner.store.subscriptions.forceAdvance(topic, subscription), 0)
        },
      )
    })
  }
}

/** An existing subscription is found, not created. */
async function subscriptionOf({ store, topic }: Cleaner, name: string, group: string): Promise<SubscriptionRecord> {
  return await store.subscriptions.subscribe(await topic(name), group, 'now')
}
