import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { MembershipError } from '../index.ts'
import type { ConformanceStores } from './conformance-store.ts'
import { collect, groupOf, isDone, pubSub } from './consuming.ts'
import { it } from './it.ts'
import { until } from './until.ts'

export function groupMembers({ stores }: ConformanceStores): void {
  for (const store of stores) {
    describe(`a group without members on ${store.name}`, () => {
      it('does not start, and creates no subscription', async () => {
        await using database = await store.fresh()
        const tm = await pubSub(await database.open())
        const group = tm.consumerGroup('events', 'analytics')
        await assert.rejects(group.start(), MembershipError)
        assert.deepEqual((await tm.admin.describeTopic('events')).groups, [])
        const deliveries = collect(group)
        await group.start()
        await tm.publish('events', 1)
        await until(() => deliveries.length === 1, { what: 'the message' })
      })

      it('cannot occur while it runs: the last member of a started group can’t be removed', async () => {
        await using database = await store.fresh()
        const tm = await pubSub(await database.open())
        const group = tm.consumerGroup<number>('events', 'analytics')
        const deliveries = collect(group, 'consumer-1')
        await group.start()
        assert.throws(() => group.removeConsumer('consumer-1'), MembershipError)
        await tm.publish('events', 1)
        await until(() => deliveries.length === 1, { what: 'the member to go on' })
        await group.stop()
        assert.equal(group.removeConsumer('consumer-1'), true)
      })

      it('is different from one whose members filter everything out: that counts as processed', async () => {
        await using database = await store.fresh()
        const tm = await pubSub(await database.open())
        const group = tm.consumerGroup<number>('events', 'analytics')
        const seen: number[] = []
        for (const id of ['consumer-1', 'consumer-2']) {
          group.addConsumer(id, ({ payload }) => void seen.push(payload), { filter: ({ payload }) => payload > 5 })
        }
        await group.start()
        await tm.publishBatch('events', [3, 6])
        await until(async () => isDone(await groupOf(tm, 'events', 'analytics')), { what: 'both to be done' })
        assert.deepEqual(seen, [6])
        assert.equal(tm.metrics().totals.filtered, 1)
        assert.equal((await groupOf(tm, 'events', 'analytics')).deadLetters, 0)
      })
    })
  }
}
