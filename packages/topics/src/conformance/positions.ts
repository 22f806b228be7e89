import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe } from 'node:test'
import { MembershipError, MessageNotFoundError, TopicConflictError, TopicNotFoundError } from '../index.ts'
import type { ConformanceStores } from './conformance-store.ts'
import { collect, consume, eventsOf, groupOf, happened, payloadsOf, range, receive } from './consuming.ts'
import { it } from './it.ts'
import { until } from './until.ts'

export function positions({ stores, shared }: ConformanceStores): void {
  for (const store of stores) {
    describe(store.name, () => {
      describe('a queue', () => {
        it('has one group, whatever names its consumers use', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const readers = [tm.reader('work'), tm.reader('work', { group: 'a' }), tm.reader('work', { group: 'b' })]
          await tm.publishBatch('work', [1, 2, 3])
          const taken: unknown[] = []
          for (const reader of readers) taken.push((await receive(reader)).payload)
          assert.deepEqual(taken, [1, 2, 3])
          for (const reader of readers) assert.equal(await reader.poll(0), null)
          const { groups } = await tm.admin.describeTopic('work')
          assert.deepEqual(
            groups.map(({ group }) => group),
            [''],
          )
        })

        it('keeps everything for its first consumer, whatever its start position', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.publishBatch('work', [1, 2])
          const group = tm.consumerGroup('work', 'late')
          const deliveries = collect(group)
          await group.start({ from: 'now' })
          await happened(deliveries, 2, 'both')
          assert.deepEqual(payloadsOf(deliveries), [1, 2])
        })

        it('is the default of a topic', async () => {
          await using database = await store.fresh()
          assert.equal((await (await database.open()).configureTopic('work')).semantics, 'queue')
        })
      })

      describe('a new group of a pub-sub topic', () => {
        it('begins now by default', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('events', { semantics: 'pub-sub' })
          await tm.publish('events', 'before')
          const readers = [tm.reader('events', { group: 'a' }), tm.reader('events', { group: 'b', from: 'now' })]
          for (const reader of readers) await reader.ready()
          await tm.publish('events', 'after')
          for (const reader of readers) {
            assert.deepEqual(await consume(reader, 1), ['after'])
            assert.equal(await reader.poll(0), null)
          }
        })

        it('may begin at the beginning', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('events', { semantics: 'pub-sub' })
          await tm.publishBatch('events', [1, 2, 3])
          const group = tm.consumerGroup('events', 'g')
          const deliveries = collect(group)
          await group.start({ from: 'beginning' })
          await tm.publish('events', 4)
          await happened(deliveries, 4, 'all four')
          assert.deepEqual(payloadsOf(deliveries), range(1, 4))
        })

        it('may begin at a point in time, inclusive', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('events', { semantics: 'pub-sub' })
          const all = tm.reader('events', { group: 'all' })
          await all.ready()
          const times: number[] = []
          for (const number of range(1, 4)) {
            const last = times.at(-1)
            await until(() => last === undefined || Date.now() > last + 1, { what: 'the clock to move on' })
            await tm.publish('events', number)
            times.push((await receive(all)).createdAt.getTime())
          }
          const [, second = 0, third = 0, last = 0] = times
          const at = async (name: string, timestamp: Date | number) => {
            const reader = tm.reader('events', { group: name, from: { timestamp } })
            await reader.ready()
            const payloads: unknown[] = []
            for (let next = await reader.poll(0); next !== null; next = await reader.poll(0))
              payloads.push(next.payload)
            return payloads
          }
          assert.deepEqual(await at('second', new Date(second)), [2, 3, 4])
          assert.deepEqual(await at('third', third), [3, 4])
          assert.deepEqual(await at('just-after', last + 1), [])
          assert.deepEqual(await at('long-ago', 0), [1, 2, 3, 4])
          assert.deepEqual(await at('future', Date.now() + 3_600_000), [])
        })

        it('may begin at a message, inclusive', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('events', { semantics: 'pub-sub' })
          const refs = await tm.publishBatch('events', [1, 2])
          await tm.publish('events', 3, { messageId: 'mine' })
          await tm.publish('events', 4)
          const derived = tm.reader('events', { group: 'a', from: { messageId: refs[1]?.messageId ?? '' } })
          assert.deepEqual(await consume(derived, 3), [2, 3, 4])
          const given = tm.reader('events', { group: 'b', from: { messageId: 'mine' } })
          assert.deepEqual(await consume(given, 2), [3, 4])
        })

        it('is not created if the message to begin at is unknown', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('events', { semantics: 'pub-sub' })
          const [ref] = await tm.publishBatch('events', [1])
          await tm.publish('other', 1, { messageId: 'of another topic' })
          const next = ref?.messageId.replace(/.$/, digit => (digit === '2' ? '3' : '2')) ?? ''
          for (const messageId of ['unknown', randomUUID(), next, 'of another topic']) {
            await assert.rejects(
              tm.reader('events', { group: 'g', from: { messageId } }).receive(),
              (error: unknown) => {
                assert.ok(error instanceof MessageNotFoundError)
                assert.deepEqual([error.topic, error.messageId], ['events', messageId])
                return true
              },
            )
          }
          const group = tm.consumerGroup('events', 'g')
          collect(group)
          await assert.rejects(group.start({ from: { messageId: 'unknown' } }), MessageNotFoundError)
          assert.deepEqual((await tm.admin.describeTopic('events')).groups, [])
        })

        it('needs a name', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('events', { semantics: 'pub-sub' })
          await assert.rejects(tm.reader('events').receive(), MembershipError)
          const group = tm.consumerGroup('events')
          collect(group)
          await assert.rejects(group.start(), MembershipError)
          assert.equal(group.running, false)
        })
      })

      describe('a group that exists', () => {
        it('continues at its cursor, whatever `from` says', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('events', { semantics: 'pub-sub' })
          await tm.publishBatch('events', [1, 2, 3])
          const first = tm.reader('events', { group: 'g', from: 'beginning' })
          await consume(first, 1)
          await first.close()
          for (const from of ['now', 'beginning', { timestamp: Date.now() + 60_000 }, { messageId: 'gone' }] as const) {
            const reader = tm.reader('events', { group: 'g', from })
            assert.equal((await receive(reader)).payload, 2)
            await reader.close()
          }
        })

        it('misses nothing of what was published while it was away', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('events', { semantics: 'pub-sub' })
          const first = tm.reader('events', { group: 'g' })
          await first.ready()
          await first.close()
          await tm.publishBatch('events', [1, 2])
          const again = tm.reader('events', { group: 'g', from: 'now' })
          assert.deepEqual(await consume(again, 2), [1, 2])
        })
      })

      describe('configureTopic', () => {
        it('can be repeated, and changes only the given settings', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const backoff = { initial: '2s', max: '1h', factor: 3 } as const
          const first = await tm.configureTopic('events', { semantics: 'pub-sub', lease: '30s', backoff })
          assert.equal(first.leaseMs, 30_000)
          assert.deepEqual(first.backoff, { initialMs: 2_000, maxMs: 3_600_000, factor: 3 })
          assert.deepEqual(await tm.configureTopic('events', { semantics: 'pub-sub', lease: '30s', backoff }), first)
          assert.deepEqual(await tm.configureTopic('events', { maxAttempts: 9 }), { ...first, maxAttempts: 9 })
          assert.deepEqual(await tm.configureTopic('events'), { ...first, maxAttempts: 9 })
        })

        it('changes the semantics of a topic without messages only', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('fresh', { semantics: 'queue' })
          assert.equal((await tm.configureTopic('fresh', { semantics: 'pub-sub' })).semantics, 'pub-sub')
          await tm.publish('used', 1)
          await assert.rejects(tm.configureTopic('used', { semantics: 'pub-sub' }), TopicConflictError)
          assert.equal((await tm.configureTopic('used')).semantics, 'queue')
        })

        it('does not change partitionRows', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('work', { partitionRows: 10 })
          await tm.configureTopic('work', { partitionRows: 10 })
          await assert.rejects(tm.configureTopic('work', { partitionRows: 20 }), TopicConflictError)
        })
      })

      describe('autoCreate: false', () => {
        it('leaves the creation of topics to configureTopic', async () => {
          await using database = await store.fresh()
          const tm = await database.open({ autoCreate: false })
          await assert.rejects(tm.publish('work', 1), (error: unknown) => {
            assert.ok(error instanceof TopicNotFoundError)
            assert.match(error.message, /configureTopic\('work'\)/)
            return true
          })
          await assert.rejects(tm.publishBatch('work', [1]), TopicNotFoundError)
          await assert.rejects(tm.reader('work').receive(), TopicNotFoundError)
          const group = tm.consumerGroup('work')
          collect(group)
          await assert.rejects(group.start(), TopicNotFoundError)
          await assert.rejects(tm.admin.describeTopic('work'), TopicNotFoundError)
          await tm.configureTopic('work')
          await tm.publish('work', 1)
          await group.start()
          await until(() => tm.metrics().totals.acked === 1, { what: 'the message' })
        })
      })
    })
  }

  for (const store of shared) {
    describe(store.name, () => {
      it('brings new settings to consumers that run, in every instance', async () => {
        await using database = await store.fresh()
        const [here, there] = [await database.open(), await database.open()]
        await here.configureTopic('work', { maxAttempts: 100, backoff: { initial: 1, max: 1 } })
        const nacked = eventsOf(there, 'nacked')
        const group = there.consumerGroup('work').addConsumer('a', () => Promise.reject(new Error('always')))
        await group.start()
        await here.publish('work', 1)
        await happened(nacked, 3, 'three attempts')
        await here.configureTopic('work', { maxAttempts: 4 })
        await until(async () => (await groupOf(here, 'work')).deadLetters === 1, { what: 'the dead letter' })
        await here.configureTopic('work', { maxAttempts: 1 })
        await here.publish('work', 2)
        await until(async () => (await groupOf(here, 'work')).deadLetters === 2, { what: 'the second dead letter' })
        const letters = await here.admin.deadLetters('work')
        assert.ok((letters[0]?.attempts ?? 0) >= 4)
        assert.ok((letters[1]?.attempts ?? 0) <= 2)
      })
    })
  }
}
