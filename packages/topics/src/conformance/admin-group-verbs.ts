import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { GroupNotFoundError, type Tidemark } from '../index.ts'
import { type ConformanceStores, needs } from './conformance-store.ts'
import { consume, eventsOf, Gate, groupOf, happened, range, receive } from './consuming.ts'
import { it } from './it.ts'
import { openStore } from './open-store.ts'
import { until } from './until.ts'

const statusOf = async (tm: Tidemark, group: string) => (await groupOf(tm, 'events', group)).status

export function adminGroupVerbs({ shared }: ConformanceStores): void {
  for (const store of shared) {
    describe(`groups, by tm.admin, on ${store.name}`, () => {
      it('removeGroup waits for the work in flight, then removes the group', async () => {
        await using database = await store.fresh()
        const tm = await database.open()
        await tm.configureTopic('events', { semantics: 'pub-sub' })
        const gate = new Gate()
        const done: unknown[] = []
        const group = tm.consumerGroup('events', 'g')
        group.addConsumer('c', async ({ payload }) => {
          await gate.passed
          done.push(payload)
        })
        await group.start()
        await tm.publish('events', 1)
        await until(async () => (await groupOf(tm, 'events', 'g')).inFlight === 1, { what: 'work in flight' })
        const stopped = eventsOf(tm, 'group-stopped')
        const removing = tm.admin.removeGroup('events', 'g')
        await until(async () => (await statusOf(tm, 'g')) === 'CANCELLED', { what: 'the cancellation' })
        gate.open()
        assert.deepEqual(await removing, { abandoned: 0 })
        assert.deepEqual(done, [1])
        await happened(stopped, 1, 'the group to stop')
        assert.deepEqual(await tm.admin.groups('events'), [])
        await assert.rejects(tm.admin.removeGroup('events', 'g'), GroupNotFoundError)
      })

      it('removeGroup does not wait for ever', async () => {
        await using database = await store.fresh()
        const tm = await database.open()
        await tm.configureTopic('events', { semantics: 'pub-sub' })
        const reader = tm.reader('events', { group: 'g' })
        await reader.ready()
        await tm.publish('events', 1)
        const held = await receive(reader)
        assert.deepEqual(await tm.admin.removeGroup('events', 'g', { timeout: 10 }), { abandoned: 1 })
        await assert.rejects(held.ack(), { code: 'TIDEMARK_STALE_DELIVERY' })
        assert.deepEqual(await tm.admin.groups('events'), [])
      })

      it('are listed with status, heartbeat, pending, processed, in flight, health', async () => {
        await using database = await store.fresh()
        const tm = await database.open()
        await tm.configureTopic('events', { semantics: 'pub-sub' })
        const reader = tm.reader('events', { group: 'alive', batchSize: 1 })
        await reader.ready()
        await tm.reader('events', { group: 'dead' }).ready()
        await tm.publishBatch('events', range(1, 5))
        await receive(reader)
        await database.setStatus('dead', 'DEAD')
        const [alive, dead] = await tm.admin.groups('events')
        assert.deepEqual([alive?.status, alive?.healthy, dead?.status, dead?.healthy], ['ACTIVE', true, 'DEAD', false])
        assert.equal((alive?.lagMessages ?? 0) + (alive?.inFlight ?? 0), 5)
        assert.ok(alive && alive.inFlight >= 1 && alive.lastHeartbeatAt.getTime() > 0 && alive.processed >= 0)
        assert.ok(alive.sinceHeartbeatMs < 60_000)
      })

      it('are listed with processed, failed, rate, oldest pending, lag', async () => {
        await using database = await store.fresh()
        const tm = await database.open()
        await tm.configureTopic('events', { semantics: 'pub-sub' })
        await tm.reader('events', { group: 'g' }).ready()
        await tm.publishBatch('events', range(1, 3))
        await database.ageMessages('events', 90_000)
        await using direct = await openStore(database)
        const topic = await direct.topics.find('events')
        const subscription = topic && (await direct.subscriptions.find(topic, 'g'))
        assert.ok(subscription)
        const { id: subscriptionId, uid: subscriptionUid } = subscription
        await direct.heartbeats.send([{ subscriptionId, subscriptionUid, processed: 120, failed: 3, filtered: 4 }])
        const [group] = await tm.admin.groups('events')
        assert.ok(group)
        assert.deepEqual([group.processed, group.failed, group.filtered, group.lagMessages], [120, 3, 4, 3])
        assert.ok(group.ratePerSecond > 0 && group.ratePerSecond <= 3, `rate ${group.ratePerSecond}`)
        assert.ok(group.lagMs >= 90_000 && group.lagMs < 150_000, `lag ${group.lagMs}`)
      })

      it('are resurrected: with a backfill a group gets what it missed, without one it starts at the present', async () => {
        await using database = await store.fresh()
        const tm = await database.open()
        await tm.configureTopic('events', { semantics: 'pub-sub' })
        for (const group of ['with', 'without']) await tm.reader('events', { group }).ready()
        for (const group of ['with', 'without']) await database.setStatus(group, 'DEAD')
        await tm.publishBatch('events', range(1, 10))
        await tm.admin.resurrectGroup('events', 'with')
        const skipped = await tm.admin.resurrectGroup('events', 'without', { backfill: false })
        assert.equal(skipped.skipped, 10)
        await tm.publish('events', 11)
        assert.deepEqual(await consume(tm.reader('events', { group: 'with' }), 11), range(1, 11))
        assert.deepEqual(await consume(tm.reader('events', { group: 'without' }), 1), [11])
        const { lost, epoch, status } = await groupOf(tm, 'events', 'without')
        assert.deepEqual([lost, epoch, status], [10, 2, 'ACTIVE'])
        await assert.rejects(tm.admin.resurrectGroup('events', 'with'), { code: 'TIDEMARK_INVALID_TRANSITION' })
      })

      it(
        'have their orphans completed: messages waiting only for gone groups are done',
        needs(store, 'tracking'),
        async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('events', { semantics: 'pub-sub', tracking: 'reference' })
          await tm.reader('events', { group: 'gone' }).ready()
          const [ref] = await tm.publishBatch('events', [1])
          await database.setStatus('gone', 'DEAD')
          const messageId = ref?.messageId ?? ''
          assert.deepEqual((await tm.admin.completion('events', { messageId }))[0]?.required, ['gone'])
          assert.equal(await tm.admin.completeOrphans('events', { olderThan: '1h' }), 0)
          await database.ageMessages('events', 2 * 3_600_000)
          assert.equal(await tm.admin.completeOrphans('events', { olderThan: '1h' }), 1)
          assert.deepEqual(await tm.admin.completion('events', { unfinished: true }), [])
        },
      )
    })
  }
}
