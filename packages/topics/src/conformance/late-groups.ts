import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { NoSubscriptionsError } from '../index.ts'
import type { ConformanceStores } from './conformance-store.ts'
import { consume, pubSub } from './consuming.ts'
import { it } from './it.ts'

export function lateGroups({ stores }: ConformanceStores): void {
  for (const store of stores) {
    describe(`a group that registers after the first publish on ${store.name}`, () => {
      it('gets what was published before, if it registers in time', async () => {
        await using database = await store.fresh()
        const tm = await pubSub(await database.open())
        await tm.publishBatch('events', [1, 2, 3])
        for (const job of Object.values(tm.admin.jobs)) await job.runOnce()
        assert.deepEqual(await consume(tm.reader('events', { group: 'late', from: 'beginning' }), 3), [1, 2, 3])
      })

      it('misses nothing if publishing is blocked until somebody has registered', async () => {
        await using database = await store.fresh()
        const tm = await database.open()
        await tm.configureTopic('events', { semantics: 'pub-sub', blockPublishWithoutSubscription: true })
        await assert.rejects(tm.publish('events', 1), NoSubscriptionsError)
        const reader = await tm.reader('events', { group: 'late', from: 'beginning' }).ready()
        await tm.publish('events', 2)
        assert.deepEqual(await consume(reader, 1), [2])
        assert.equal(await reader.poll(0), null)
      })
    })
  }
}
