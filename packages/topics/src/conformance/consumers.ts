import assert from 'node:assert/strict'
import { describe } from 'node:test'
import type { ConsumerHealth, Tidemark } from '../index.ts'
import type { ConformanceStores } from './conformance-store.ts'
import { consume, Gate, range, receive } from './consuming.ts'
import { it } from './it.ts'
import { until } from './until.ts'

const OFTEN = { heartbeat: { interval: 20 } }

export function consumers({ stores, shared }: ConformanceStores): void {
  for (const store of stores) {
    describe(store.name, () => {
      describe('the figures of a consumer', () => {
        it('count what it has processed and failed, with durations and the last activity', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('events', { semantics: 'pub-sub', maxAttempts: 1 })
          const group = tm.consumerGroup<number>('events', 'g')
          const isOdd = ({ payload }: { payload: number }) => payload % 2 === 1
          group.addConsumer(
            'odd',
            async ({ payload }) => {
              await new Promise(resolve => setTimeout(resolve, 2))
              if (payload === 3) throw new Error('three')
            },
            { filter: isOdd },
          )
          group.addConsumer('even', message => (message.payload === 4 ? message.nack('four') : undefined), {
            filter: each => !isOdd(each),
          })
          await group.start()
          assert.deepEqual(
            (await tm.admin.consumers('events')).map(({ consumer, processed, lastActiveAt }) => [
              consumer,
              processed,
              lastActiveAt,
            ]),
            [
              ['even', 0, null],
              ['odd', 0, null],
            ],
          )
          await tm.publishBatch('events', range(1, 9))
          await until(() => tm.metrics().totals.acked + tm.metrics().totals.nacked === 9, { what: 'all to be settled' })
          const { consumers, handler } = tm.metrics().topics.events?.groups.g ?? {}
          assert.deepEqual([consumers?.odd?.processed, consumers?.odd?.failed], [4, 1])
          assert.deepEqual([consumers?.even?.processed, consumers?.even?.failed], [3, 1])
          assert.equal(consumers?.odd?.handler.count, 5)
          assert.ok((consumers?.odd?.handler.p50 ?? 0) >= 1 && (handler?.max ?? 0) >= 1)
          const [even, odd] = await tm.admin.consumers('events', { group: 'g' })
          assert.deepEqual([even?.processed, odd?.processed, odd?.failed], [3, 4, 1])
          assert.ok(odd?.lastActiveAt && odd.lastActiveAt >= odd.startedAt && odd.reportedAt >= odd.lastActiveAt)
          await group.stop()
          assert.deepEqual(tm.metrics().topics.events?.groups.g?.consumers, {})
          assert.ok((tm.metrics().topics.events?.groups.g?.handler.count ?? 0) >= 5)
          assert.deepEqual(await tm.admin.consumers('events'), [])
        })

        it('include readers and pulls', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.publishBatch('work', [1, 2, 3, 4, 5])
          const reader = tm.reader('work', { consumer: 'r' })
          const first = await receive(reader)
          await first.ack()
          await first.ack()
          await (await receive(reader)).nack('no', { delay: '1h' })
          const { receipt, messages } = await tm.pull('work', undefined, { max: 3, consumer: 'p' })
          await tm.settle(receipt ?? '', { acks: 'all', nacks: [{ id: messages[1]?.id ?? 0, delay: '1h' }] })
          const figures = (await tm.admin.consumers('work')).map(({ consumer, processed, failed, handler }) => [
            consumer,
            processed,
            failed,
            handler.count,
          ])
          assert.deepEqual(figures, [
            ['p', 2, 1, 3],
            ['r', 1, 1, 2],
          ])
          await reader.close()
          assert.deepEqual(
            (await tm.admin.consumers('work')).map(({ consumer }) => consumer),
            ['p'],
          )
        })

        it('refuse a topic and a group that do not exist', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await assert.rejects(tm.admin.consumers('nowhere'), { code: 'TIDEMARK_TOPIC_NOT_FOUND' })
          await tm.configureTopic('events', { semantics: 'pub-sub' })
          await assert.rejects(tm.admin.consumers('events', { group: 'nobody' }), { code: 'TIDEMARK_GROUP_NOT_FOUND' })
        })
      })

      describe('the figures of a group', () => {
        it('have its claim conflicts of the last minute', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.publish('work', 1)
          await consume(tm.reader('work'), 1)
          const { claimConflicts } = tm.metrics().topics.work?.groups[''] ?? {}
          assert.deepEqual(claimConflicts, { lastMinute: 0, ratio: 0 })
        })
      })
    })
  }

  for (const store of shared) {
    describe(store.name, () => {
      describe('consumers of several processes', () => {
        it('are visible to all of them, with their times, after their heartbeats', async () => {
          await using database = await store.fresh()
          const [here, there] = [await database.open(), await database.open()]
          await here.configureTopic('events', { semantics: 'pub-sub' })
          const gate = new Gate()
          for (const tm of [here, there]) {
            const group = tm.consumerGroup('events', 'g', { batchSize: 1 })
            group.addConsumer('c', () => gate.passed)
            await group.start(OFTEN)
          }
          await here.publishBatch('events', range(1, 10))
          gate.open()
          const processed = (list: readonly ConsumerHealth[]) => list.reduce((sum, each) => sum + each.processed, 0)
          await until(async () => processed(await here.admin.consumers('events')) === 10, { what: 'both here' })
          await until(async () => processed(await there.admin.consumers('events')) === 10, { what: 'both there' })
          const seen = await here.admin.consumers('events', { group: 'g' })
          assert.equal(new Set(seen.map(({ instance }) => instance)).size, 2)
          assert.deepEqual(
            seen.map(({ consumer }) => consumer),
            ['c', 'c'],
          )
          await until(async () => (await here.admin.groups('events'))[0]?.handler.count === 10, {
            what: 'the times of all',
          })
          const [group] = await here.admin.groups('events')
          assert.equal(group?.consumers, 2)
          assert.ok(group.handler.p50 > 0 && group.handler.p99 <= group.handler.max)
          await there.close()
          assert.equal((await here.admin.consumers('events')).length, 1)
          assert.equal((await here.admin.groups('events'))[0]?.consumers, 1)
        })
      })

      it('shows no consumer of a group that has stopped elsewhere, even if it had nothing new to report', async () => {
        await using database = await store.fresh()
        const [here, there] = [await database.open(), await database.open()]
        await here.configureTopic('events', { semantics: 'pub-sub' })
        const group = there.consumerGroup('events', 'g')
        group.addConsumer('c', () => undefined)
        await group.start(OFTEN)
        const shown = async () => (await here.admin.consumers('events')).length
        await until(async () => (await shown()) === 1, { what: 'its heartbeat' })
        await group.stop()
        assert.equal(await shown(), 0)
      })

      it('reports the claim conflicts of a group with competing consumers', async () => {
        await using database = await store.fresh()
        const [here, there] = [await database.open(), await database.open()]
        await here.configureTopic('work')
        const readers = [here, there].map(tm => tm.reader('work', OFTEN))
        await Promise.all(readers.map(reader => reader.ready()))
        const conflicts = () =>
          [here, there].reduce(
            (sum, tm) => sum + (tm.metrics().topics.work?.groups['']?.claimConflicts.lastMinute ?? 0),
            0,
          )
        const compete = async () => {
          await here.publishBatch('work', [1, 2])
          const lock = await database.lock()
          const received = readers.map(reader => receive(reader))
          const isClaiming = async () => (await lock.isWaitedFor()) || waitingIn(here) + waitingIn(there) > 0
          await until(isClaiming, { what: 'a claim to wait' })
          await lock[Symbol.asyncDispose]()
          await Promise.all(received)
          // On a busy machine the second may only arrive when the first has its messages.
          return conflicts() > 0
        }
        await until(compete, { what: 'a conflict' })
        await until(async () => (await here.admin.groups('work'))[0]?.claimConflicts.lastMinute === conflicts(), {
          what: 'the heartbeats to tell',
        })
      })
    })
  }
}

const waitingIn = (tm: Tidemark): number => tm.metrics().pool.waiting
