import assert from 'node:assert/strict'
import { describe } from 'node:test'
import type { ConformanceStores } from './conformance-store.ts'
import { range } from './consuming.ts'
import { it } from './it.ts'

export function adminTopics({ stores, shared }: ConformanceStores): void {
  for (const store of stores) {
    describe(store.name, () => {
      describe('admin.describeTopic', () => {
        it('gives the settings, the count and the groups of a topic', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('events', { semantics: 'pub-sub', lease: '7s', maxAttempts: 3 })
          await tm.reader('events', { group: 'email' }).ready()
          await tm.publishBatch('events', range(1, 2))
          const described = await tm.admin.describeTopic('events')
          const [summary] = await tm.admin.topics()
          assert.deepEqual({ topic: described.topic, config: described.config }, summary)
          assert.deepEqual([described.config.leaseMs, described.config.maxAttempts], [7_000, 3])
          assert.deepEqual([described.messagesPublished, described.groups.map(each => each.group)], [2, ['email']])
        })

        it('gives the settings as they are now, whatever this process has cached', async t => {
          if (!shared.includes(store)) return t.skip('one process only')
          await using database = await store.fresh()
          const [tm, other] = [await database.open(), await database.open()]
          await tm.configureTopic('events', { maxAttempts: 3 })
          await tm.publish('events', 1)
          await other.configureTopic('events', { maxAttempts: 4 })
          assert.equal((await tm.admin.describeTopic('events')).config.maxAttempts, 4)
        })
      })
    })
  }
}
