import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { InvalidTransitionError, SubscriptionGoneError } from '../index.ts'
import type { ConformanceStores } from './conformance-store.ts'
import { collect, eventsOf, Gate, groupOf, happened, pubSub, receive } from './consuming.ts'
import { letDie } from './dying.ts'
import { it } from './it.ts'
import { openStore } from './open-store.ts'
import { until } from './until.ts'

const HOUR = 3_600_000

export function subscriptionLife({ secluded }: ConformanceStores): void {
  for (const store of secluded) {
    describe(`a subscription on ${store.name}`, () => {
      it('goes ACTIVE → PAUSED → ACTIVE → DEAD → ACTIVE → CANCELLED, each activation a new epoch', async () => {
        await using database = await store.fresh()
        const tm = await pubSub(await database.open())
        const group = tm.consumerGroup('events', 'g')
        collect(group)
        const state = async () => {
          const { status, epoch } = await groupOf(tm, 'events', 'g')
          return `${status} ${epoch}`
        }
        await group.start({ heartbeat: { interval: '1h', timeout: '5h' } })
        assert.equal(await state(), 'ACTIVE 1')
        await assert.rejects(group.resume(), InvalidTransitionError)
        await group.pause()
        assert.equal(await state(), 'PAUSED 1')
        await assert.rejects(group.pause(), InvalidTransitionError)
        await group.resume()
        assert.equal(await state(), 'ACTIVE 2')
        await group.stop()
        await letDie(tm, database, 5 * HOUR)
        assert.equal(await state(), 'DEAD 2')
        await group.start()
        assert.equal(await state(), 'ACTIVE 3')
        await group.cancel()
        assert.equal(await state(), 'CANCELLED 3')
        await assert.rejects(group.start(), InvalidTransitionError)
        assert.equal(await state(), 'CANCELLED 3')
      })

      it('goes CANCELLED → removed after its retention, and the name can be reused', async () => {
        await using database = await store.fresh()
        const tm = await pubSub(await database.open())
        const group = tm.consumerGroup('events', 'g')
        collect(group)
        await group.start()
        await group.cancel()
        await database.ageGroups(30 * 24 * HOUR)
        assert.equal((await tm.admin.jobs.subscriptions.runOnce()).removed, 1)
        await group.start()
        assert.deepEqual([group.status, (await groupOf(tm, 'events', 'g')).epoch], ['ACTIVE', 1])
      })
    })

    describe(`a subscription that is deleted while messages are in flight on ${store.name}`, () => {
      it('stops the consumer, whose late ack is stale, and leaves nothing behind', async () => {
        await using database = await store.fresh()
        const tm = await pubSub(await database.open())
        const admin = await openStore(database)
        try {
          const gate = new Gate()
          const group = tm.consumerGroup('events', 'inventory')
          let begun = 0
          group.addConsumer('c', async () => {
            begun++
            await gate.passed
          })
          await group.start({ heartbeat: { interval: 20 } })
          const reader = tm.reader('events', { group: 'inventory' })
          await tm.publish('events', 1)
          await until(() => begun === 1, { what: 'a message in flight' })
          const [stopped, stale] = [eventsOf(tm, 'group-stopped'), eventsOf(tm, 'stale')]
          const topic = await admin.topics.find('events')
          assert.ok(topic)
          const subscription = await admin.subscriptions.find(topic, 'inventory')
          assert.ok(subscription)
          await admin.subscriptions.setStatus(topic, subscription, 'CANCELLED')
          await admin.subscriptions.remove(topic, subscription)
          await until(() => !group.running, { what: 'the consumer to be stopped' })
          gate.open()
          const [event] = await happened(stopped, 1, 'the consumer to have stopped')
          assert.ok(event?.reason instanceof SubscriptionGoneError)
          await happened(stale, 1, 'the late ack')
          await assert.rejects(reader.receive(), SubscriptionGoneError)
          assert.deepEqual((await tm.admin.describeTopic('events')).groups, [])
          const again = tm.reader('events', { group: 'inventory', from: 'beginning' })
          await (await receive(again)).ack()
        } finally {
          await admin.close()
        }
      })
    })
  }
}
