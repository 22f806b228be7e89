/** Scenarios of the specification about messages that are no longer needed, each under the name it has there. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Tidemark, TopicOptions } from 'tidemark'
import { until } from '../../../../../testing/until.ts'
import type { SubscriptionRecord } from '../../../src/stores/subscription-record.ts'
import { type Cleaner, cleanerOf, DAY } from '../cleaning.ts'
import { consume, groupOf, range, receive } from '../consuming.ts'
import { SECLUDED_STORES, type TestDatabase, type TestStore } from '../stores.ts'

const PUB_SUB: TopicOptions = { semantics: 'pub-sub', retention: '24h', maxRetention: '30d', partitionRows: 20 }

for (const store of SECLUDED_STORES) {
  describe(`${store.name}: Message Cleanup Job`, () => {
    scenario(store, 'deletes in batches, and goes on until none is full', async (database, _, tm) => {
      await using cleaner = await cleanerOf(database, 10)
      await tm.configureTopic('events', PUB_SUB)
      await tm.publishBatch('events', range(1, 95))
      await cleaner.age('events', 2 * DAY)
      assert.equal((await cleaner.run()).removed, 95)
    })

    scenario(store, 'a failing topic does not keep the others from being cleaned', async (database, cleaner, tm) => {
      for (const topic of ['broken', 'sound']) {
        await tm.configureTopic(topic, PUB_SUB)
        await tm.publishBatch(topic, range(1, 30))
        await cleaner.age(topic, 2 * DAY)
      }
      const { id } = await cleaner.topic('broken')
      await database.execute({
        sqlite: `alter table tidemark_log_${id} rename to hidden`,
        postgres: `alter sequence tidemark.log_${id}_id rename to hidden`,
      })
      const failed: string[] = []
      cleaner.instrumentation.on('error', ({ topic, action }) => failed.push(`${action} ${topic}`))
      await until(
        async () => {
          await cleaner.runOnce().catch(() => {})
          return (await cleaner.kept('sound')).length === 0
        },
        { what: 'the sound topic to be cleaned' },
      )
      assert.ok(failed.length > 0 && failed.every(each => each === 'clean up broken'))
    })
  })

  describe(`${store.name}: Performance Impact on Consumer Groups and Fan-Out: publishes go on during clean-up`, () => {
    scenario(store, 'every message published meanwhile is delivered', async (_, cleaner, tm) => {
      await tm.configureTopic('events', { ...PUB_SUB, retention: 0, lease: 0 })
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

  describe(`${store.name}: Zombie Subscription Protection`, () => {
    scenario(store, 'a DEAD subscription pins nothing', async (database, cleaner, tm) => {
      await tm.configureTopic('events', PUB_SUB)
      await tm.reader('events', { group: 'zombie', from: 'beginning' }).ready()
      const live = tm.reader('events', { group: 'live', from: 'beginning' })
      await tm.publishBatch('events', range(1, 50))
      await consume(live, 50)
      await cleaner.age('events', 2 * DAY)
      assert.equal((await cleaner.run()).removed, 0)
      await setStatus(database, 'zombie', 'DEAD')
      assert.equal((await cleaner.run()).removed, 50)
    })

    scenario(
      store,
      'a live group that has not moved for its TTL is reported, and nothing else',
      async (database, cleaner, tm) => {
        await tm.configureTopic('events', PUB_SUB)
        const groups = ['stuck', 'quick', 'resumed']
        for (const group of groups) await tm.reader('events', { group, from: 'beginning' }).ready()
        await tm.publishBatch('events', range(1, 30))
        await consume(tm.reader('events', { group: 'quick' }), 30)
        await cleaner.age('events', 8 * DAY)
        assert.deepEqual(await cleaner.store.subscriptions.zombies(), [], 'they have only just moved')
        await silentFor(database, 8 * DAY)
        await database.execute({
          sqlite: `update tidemark_subscription set status_at = status_at + ${8 * DAY} where group_name = 'resumed'`,
          postgres: `update tidemark.subscription set status_at = clock_timestamp() where group_name = 'resumed'`,
        })
        const zombies = await cleaner.store.subscriptions.zombies()
        assert.deepEqual(
          zombies.map(({ topic, subscription, waiting }) => [topic.name, subscription.group, waiting]),
          [['events', 'stuck', 30]],
        )
        assert.ok(Date.now() - (zombies[0]?.movedAt ?? 0) > 7 * DAY)
        assert.equal((await groupOf(tm, 'events', 'stuck')).backlog, 30)
      },
    )

    scenario(
      store,
      'a message that has only just come to a quiet topic makes no zombie',
      async (database, cleaner, tm) => {
        await tm.configureTopic('events', PUB_SUB)
        const reader = tm.reader('events', { group: 'g', from: 'beginning' })
        await tm.publishBatch('events', range(1, 30))
        await consume(reader, 30)
        await cleaner.age('events', 8 * DAY)
        await silentFor(database, 8 * DAY)
        await tm.publish('events', 31)
        assert.deepEqual(await cleaner.store.subscriptions.zombies(), [])
      },
    )

    scenario(store, 'a retry that is long due and not fetched makes one', async (database, cleaner, tm) => {
      await tm.configureTopic('events', PUB_SUB)
      const reader = tm.reader('events', { group: 'g', from: 'beginning' })
      await tm.publish('events', 1)
      await (await receive(reader)).nack('later', { delay: '1h' })
      await reader.close()
      await silentFor(database, 8 * DAY)
      await database.execute({
        sqlite: 'update tidemark_retry set due_at = 1',
        postgres: "update tidemark.retry set due_at = timestamptz '2000-01-01'",
      })
      assert.deepEqual(
        (await cleaner.store.subscriptions.zombies()).map(({ waiting }) => waiting),
        [1],
      )
    })

    scenario(
      store,
      'force-advanced, it has lost exactly what it had not processed, and goes on with what is new',
      async (database, cleaner, tm) => {
        await tm.configureTopic('events', { ...PUB_SUB, advanceZombies: true })
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

  describe(`${store.name}: Forced Retention Cap`, () => {
    scenario(
      store,
      'a topic whose groups never move is bounded by maxRetention, and the loss is visible',
      async (_, cleaner, tm) => {
        await tm.configureTopic('events', PUB_SUB)
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
      await tm.configureTopic('events', { ...PUB_SUB, zeroSubscriptionRetention: 'forever', maxRetention: '30d' })
      await tm.publishBatch('events', range(1, 50))
      await cleaner.age('events', 29 * DAY)
      assert.equal((await cleaner.run()).removed, 0)
      await cleaner.age('events', 2 * DAY)
      assert.deepEqual(await cleaner.run(), { removed: 50, lost: 0 })
    })
  })

  describe(`${store.name}: Concern 6: Hot Partition Problem`, () => {
    scenario(
      store,
      'every topic has a log of its own: cleaning a hot one reads and changes no other',
      async (database, cleaner, tm) => {
        for (const topic of ['orders', 'users']) await tm.configureTopic(topic, PUB_SUB)
        await tm.publishBatch('orders', range(1, 400))
        await tm.publishBatch('users', range(1, 5))
        await cleaner.age('orders', 2 * DAY)
        assert.equal((await cleaner.run()).removed, 400)
        assert.deepEqual(await cleaner.kept('users'), range(1, 5))
        const tables = await database.execute({
          sqlite: "select name from sqlite_schema where name like 'tidemark_log_%' and type = 'table'",
          postgres: "select relname as name from pg_class where relname ~ '^log_[0-9]+$' and relkind = 'p'",
        })
        assert.equal(tables.length, 2)
      },
    )
  })

  describe(`${store.name}: Recommended: Multi-Tenant Isolation Test`, () => {
    scenario(store, 'a busy topic, cleaned all the while, does not starve a quiet one', async (_, cleaner, tm) => {
      await tm.configureTopic('busy', { ...PUB_SUB, retention: 0, lease: 0, partitionRows: 200 })
      await tm.configureTopic('quiet', PUB_SUB)
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
      // One by one, each delivered before the next is published: with the busy one's backlog before it, it would never come.
      for (let n = 1; n <= 20 || published <= 1_000; n++) {
        await tm.publish('quiet', n)
        assert.deepEqual(await consume(quiet, 1), [n])
      }
      isRunning = false
      await Promise.all([publishing, cleaning])
    })
  })

  describe(`${store.name}: Recommended: Partition Management Test (Offset/Watermark Mode)`, () => {
    scenario(
      store,
      'ten days, three groups, seven days kept; one group dies on the ninth',
      async (database, cleaner, tm) => {
        const daily = 40
        await tm.configureTopic('orders', { ...PUB_SUB, retention: '7d', partitionRows: daily })
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
        // Nothing goes in the first seven days; then a day's messages for each day, or what stands with them in a partition.
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
        await setStatus(database, 'c', 'DEAD')
        await cleaner.run()
        assert.deepEqual(await cleaner.kept('orders'), [])
      },
    )
  })
}

function scenario(
  store: TestStore,
  name: string,
  body: (database: TestDatabase, cleaner: Cleaner, tm: Tidemark) => Promise<void>,
): void {
  it(name, async () => {
    await using database = await store.fresh()
    await using cleaner = await cleanerOf(database)
    await body(database, cleaner, await database.open())
  })
}

async function setStatus(database: TestDatabase, group: string, status: string): Promise<void> {
  await database.execute({
    sqlite: `update tidemark_subscription set status = '${status}' where group_name = '${group}'`,
    postgres: `update tidemark.subscription set status = '${status}' where group_name = '${group}'`,
  })
}

/** As if no group had moved, nor changed its status, for so long. */
async function silentFor(database: TestDatabase, ms: number): Promise<void> {
  const back = `- ${ms} * interval '1 millisecond'`
  await database.execute({
    sqlite: `update tidemark_subscription set moved_at = moved_at - ${ms}, status_at = status_at - ${ms}`,
    postgres: `update tidemark.subscription set moved_at = moved_at ${back}, status_at = status_at ${back}`,
  })
}

/** A subscription that is there is found, not made. */
async function subscriptionOf({ store, topic }: Cleaner, name: string, group: string): Promise<SubscriptionRecord> {
  return await store.subscriptions.subscribe(await topic(name), group, 'now')
}
