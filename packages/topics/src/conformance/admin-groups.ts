import assert from 'node:assert/strict'
import { describe } from 'node:test'
import {
  ConfigError,
  GroupNotFoundError,
  InvalidNameError,
  InvalidTransitionError,
  MessageNotFoundError,
  PositionGoneError,
  StaleDeliveryError,
  SubscriptionGoneError,
  type Tidemark,
  TopicNotFoundError,
} from '../index.ts'
import type { ConformanceStores } from './conformance-store.ts'
import { collect, consume, eventsOf, Gate, groupOf, happened, payloadsOf, range, receive } from './consuming.ts'
import { it } from './it.ts'
import { until } from './until.ts'

async function health(tm: Tidemark, topic: string, name = '') {
  const group = (await tm.admin.groups(topic)).find(each => each.group === name)
  if (group === undefined) throw new Error(`Topic ${topic} has no group '${name}'`)
  return group
}

const PARTITION_ROWS = 10

export function adminGroups({ stores, shared }: ConformanceStores): void {
  for (const store of stores) {
    describe(store.name, () => {
      describe('admin.groups', () => {
        it('reports the position and health of each group', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('events', { semantics: 'pub-sub', maxAttempts: 1 })
          const fast = tm.reader('events', { group: 'fast', batchSize: 1 })
          const slow = tm.reader('events', { group: 'slow', batchSize: 1 })
          for (const reader of [fast, slow]) await reader.ready()
          const before = Date.now()
          await tm.publishBatch('events', range(1, 5))
          await consume(fast, 5)
          await (await receive(slow)).nack(new Error('no'))
          await (await receive(slow)).ack()
          const held = await receive(slow)

          const done = await health(tm, 'events', 'fast')
          assert.equal(done.status, 'ACTIVE')
          assert.deepEqual(
            [done.lagMessages, done.lagMs, done.inFlight, done.retries, done.deadLetters],
            [0, 0, 0, 0, 0],
          )
          assert.equal(done.healthy, true)
          assert.equal(done.nearTimeout, false)
          assert.equal(done.epoch, 1)
          assert.equal(done.backfill, null)
          const behind = await health(tm, 'events', 'slow')
          assert.equal(behind.lagMessages + behind.inFlight, 3)
          assert.ok(behind.inFlight >= 1)
          assert.equal(behind.deadLetters, 1)
          assert.ok(behind.lagMs >= 0 && behind.lagMs <= Date.now() - before + 1_000, `lag ${behind.lagMs} ms`)
          assert.ok(behind.sinceHeartbeatMs < 60_000)
          await held.ack()
        })

        it('lists a queue as its one group', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.publishBatch('work', [1, 2])
          await consume(tm.reader('work', { batchSize: 1 }), 1)
          assert.deepEqual(
            (await tm.admin.groups('work')).map(({ group }) => group),
            [''],
          )
          assert.equal((await health(tm, 'work')).healthy, true)
        })
      })

      describe('pausing, resuming and cancelling by admin', () => {
        it('pauses, resumes and permanently stops the consumers of a group', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('events', { semantics: 'pub-sub' })
          const paused = eventsOf(tm, 'group-paused')
          const cancelled = eventsOf(tm, 'group-cancelled')
          const stopped = eventsOf(tm, 'group-stopped')
          const group = tm.consumerGroup('events', 'g')
          const deliveries = collect(group)
          await group.start()
          await tm.admin.pauseGroup('events', 'g')
          assert.equal((await health(tm, 'events', 'g')).status, 'PAUSED')
          assert.ok(paused.some(event => event.group === 'g'))
          await tm.publish('events', 1)
          assert.equal((await health(tm, 'events', 'g')).lagMessages, 1)
          assert.equal(deliveries.length, 0)

          await tm.admin.resumeGroup('events', 'g')
          await happened(deliveries, 1, 'the message that waited')
          assert.equal((await health(tm, 'events', 'g')).epoch, 2)

          await tm.admin.cancelGroup('events', 'g')
          await happened(stopped, 1, 'the group to stop')
          assert.ok(stopped[0]?.reason instanceof SubscriptionGoneError)
          assert.deepEqual(cancelled, [{ topic: 'events', group: 'g' }])
          const status = await health(tm, 'events', 'g')
          assert.deepEqual([status.status, status.healthy], ['CANCELLED', false])
        })

        it('refuses what the state does not allow, and changes nothing', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('events', { semantics: 'pub-sub' })
          await tm.reader('events', { group: 'g' }).ready()
          await assert.rejects(tm.admin.resumeGroup('events', 'g'), InvalidTransitionError)
          await tm.admin.pauseGroup('events', 'g')
          await assert.rejects(tm.admin.pauseGroup('events', 'g'), InvalidTransitionError)
          assert.deepEqual((await health(tm, 'events', 'g')).status, 'PAUSED')
          await tm.admin.cancelGroup('events', 'g')
          const before = await groupOf(tm, 'events', 'g')
          await assert.rejects(tm.admin.resumeGroup('events', 'g'), InvalidTransitionError)
          await assert.rejects(tm.admin.pauseGroup('events', 'g'), InvalidTransitionError)
          await assert.rejects(tm.admin.resetGroup('events', 'g', 'beginning'), InvalidTransitionError)
          assert.deepEqual(await groupOf(tm, 'events', 'g'), before)
        })
      })

      describe('admin.resetGroup', () => {
        it('moves a group back and forth', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('events', { semantics: 'pub-sub' })
          const reader = tm.reader('events', { group: 'g', from: 'beginning' })
          await reader.ready()
          const refs = await tm.publishBatch('events', [1, 2])
          const second = await tm.publish('events', 3, { messageId: 'third' })
          assert.deepEqual(await consume(reader, 3), [1, 2, 3])

          const resets = eventsOf(tm, 'group-reset')
          await tm.admin.resetGroup('events', 'g', 'beginning')
          assert.deepEqual(await consume(reader, 3), [1, 2, 3])
          await tm.admin.resetGroup('events', 'g', { messageId: refs[1]?.messageId ?? '' })
          assert.deepEqual(await consume(reader, 2), [2, 3])
          await tm.admin.resetGroup('events', 'g', { messageId: second.messageId })
          assert.deepEqual(await consume(reader, 1), [3])
          await tm.admin.resetGroup('events', 'g', { timestamp: 0 })
          assert.deepEqual(await consume(reader, 3), [1, 2, 3])
          await tm.admin.resetGroup('events', 'g', { timestamp: Date.now() + 3_600_000 })
          assert.equal(await reader.poll(0), null)
          await tm.admin.resetGroup('events', 'g', 'beginning')
          await tm.admin.resetGroup('events', 'g', 'now')
          await tm.publish('events', 4)
          assert.deepEqual(await consume(reader, 1), [4])
          assert.equal((await health(tm, 'events', 'g')).epoch, 8)
          assert.equal(resets.length, 7)
        })

        it('moves a queue too', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.publishBatch('work', [1, 2])
          const reader = tm.reader('work')
          assert.deepEqual(await consume(reader, 2), [1, 2])
          await tm.admin.resetGroup('work', '', 'beginning')
          assert.deepEqual(await consume(reader, 2), [1, 2])
          await tm.admin.resetGroup('work', '', 'beginning')
          await tm.admin.resetGroup('work', '', 'now')
          assert.equal(await reader.poll(0), null)
        })

        it('ends the leases of the group: late settlements are stale, and retries are deleted', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('events', { semantics: 'pub-sub', backoff: { initial: '1h', max: '1h' } })
          const [old, other] = ['old', 'other'].map(consumer =>
            tm.reader('events', { group: 'g', consumer, batchSize: 1 }),
          )
          if (!old || !other) throw new Error('unreachable')
          await old.ready()
          await tm.publishBatch('events', [1, 2])
          await (await receive(other)).nack(new Error('later'))
          const held = await receive(old)
          await until(async () => (await groupOf(tm, 'events', 'g')).retries === 1, { what: 'the retry' })
          await tm.admin.resetGroup('events', 'g', 'now')
          const { inFlight, retries, backlog } = await groupOf(tm, 'events', 'g')
          assert.deepEqual({ inFlight, retries, backlog }, { inFlight: 0, retries: 0, backlog: 0 })
          await assert.rejects(held.ack(), StaleDeliveryError)
          assert.equal(await other.poll(0), null)
          await tm.admin.resetGroup('events', 'g', 'beginning')
          const again = await receive(other)
          assert.deepEqual([again.payload, again.attempt], [1, 1])
        })

        it('refuses an unknown message, and changes nothing', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('events', { semantics: 'pub-sub' })
          await tm.reader('events', { group: 'g' }).ready()
          await tm.publish('events', 1)
          const before = await groupOf(tm, 'events', 'g')
          await assert.rejects(tm.admin.resetGroup('events', 'g', { messageId: 'nobody' }), MessageNotFoundError)
          assert.deepEqual(await groupOf(tm, 'events', 'g'), before)
        })
      })

      describe('admin verbs with bad input', () => {
        it('name the existing groups, or the missing topic', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('events', { semantics: 'pub-sub' })
          for (const group of ['a', 'b']) await tm.reader('events', { group }).ready()
          const { admin } = tm
          const verbs: ((topic: string, group: string) => Promise<unknown>)[] = [
            (topic, group) => admin.pauseGroup(topic, group),
            (topic, group) => admin.resumeGroup(topic, group),
            (topic, group) => admin.cancelGroup(topic, group),
            (topic, group) => admin.resurrectGroup(topic, group),
            (topic, group) => admin.resetGroup(topic, group, 'now'),
            (topic, group) => admin.removeGroup(topic, group),
            (topic, group) => admin.startBackfill(topic, group),
            (topic, group) => admin.backfill(topic, group),
            (topic, group) => admin.cancelBackfill(topic, group),
            (topic, group) => admin.resumeBackfill(topic, group),
          ]
          for (const verb of verbs) {
            await assert.rejects(verb('events', 'c'), (error: unknown) => {
              assert.ok(error instanceof GroupNotFoundError, String(error))
              assert.deepEqual(error.known, ['a', 'b'])
              return true
            })
            await assert.rejects(verb('nothing', 'a'), TopicNotFoundError)
            await assert.rejects(verb('events', 'no/name'), InvalidNameError)
          }
          for (const verb of [
            () => admin.describeTopic('nothing'),
            () => admin.groups('nothing'),
            () => admin.deleteTopic('nothing'),
            () => admin.browse('nothing'),
            () => admin.tail('nothing'),
            () => admin.deadLetter('nothing', 1),
            () => admin.redrive('nothing', { all: true }),
            () => admin.discard('nothing', { all: true }),
            () => admin.completion('nothing'),
            () => admin.setTracking('nothing', 'offset'),
            () => admin.completeOrphans('nothing', { olderThan: '1h' }),
          ]) {
            await assert.rejects(verb(), TopicNotFoundError)
          }
        })

        it('refuse options that are wrong or unknown', async () => {
          await using database = await store.fresh()
          const { admin } = await database.open()
          const wrong: (() => Promise<unknown>)[] = [
            () => admin.browse('t', { limit: 0 }),
            () => admin.browse('t', { order: 'random' as 'newest-first' }),
            () => admin.browse('t', { since: 'yesterday' as unknown as Date }),
            () => admin.browse('t', { unknown: 1 } as object),
            () => admin.tail('t', { signal: {} as AbortSignal }),
            () => admin.redrive('t', {}),
            () => admin.redrive('t', { ids: ['1'] as unknown as number[] }),
            () => admin.discard('t', {}),
            () => admin.deadLetter('t', Number.NaN),
            () => admin.resetGroup('t', 'g', undefined as unknown as 'now'),
            () => admin.resetGroup('t', 'g', 'tomorrow' as 'now'),
            () => admin.resetGroup('t', 'g', 'now', { backfill: { batchSize: 0 } }),
            () => admin.removeGroup('t', 'g', { timeout: 'long' as '1s' }),
            () => admin.resurrectGroup('t', 'g', { backfill: { preset: 'fast' as 'aggressive' } }),
            () => admin.setTracking('t', 'guess' as 'offset'),
            () => admin.completeOrphans('t', {} as { olderThan: '1h' }),
            () => admin.startBackfill('t', 'g', { scope: 'some' as 'pending' }),
            () => admin.health({ nearTimeout: 2 }),
          ]
          for (const each of wrong) await assert.rejects(each(), ConfigError)
        })
      })

      describe('admin.deleteTopic', () => {
        it('removes the topic and stops its groups with a clear event', async () => {
          await using database = await store.fresh()
          const tm = await database.open({ autoCreate: false })
          await tm.configureTopic('events', { semantics: 'pub-sub', maxAttempts: 1 })
          await tm.configureTopic('other', {})
          const stopped = eventsOf(tm, 'group-stopped')
          const gate = new Gate()
          const group = tm.consumerGroup('events', 'g')
          group.addConsumer('c', async () => gate.passed)
          await group.start()
          await tm.publishBatch('events', range(1, 3))
          await until(async () => (await groupOf(tm, 'events', 'g')).inFlight > 0, { what: 'work in flight' })
          const deleted = eventsOf(tm, 'topic-deleted')
          await tm.admin.deleteTopic('events')
          assert.deepEqual(deleted, [{ topic: 'events' }])
          gate.open()
          await happened(stopped, 1, 'the group to stop')
          assert.ok(stopped[0]?.reason instanceof SubscriptionGoneError, String(stopped[0]?.reason))
          assert.deepEqual(
            (await tm.admin.topics()).map(({ topic }) => topic),
            ['other'],
          )
          await assert.rejects(tm.publish('events', 4), TopicNotFoundError)

          await tm.configureTopic('events', { semantics: 'pub-sub' })
          await tm.publish('events', 'new')
          assert.deepEqual(await consume(tm.reader('events', { group: 'g', from: 'beginning' }), 1), ['new'])
          assert.deepEqual(await tm.admin.deadLetters('events'), [])
        })
      })

      describe('a topic that was deleted', () => {
        it('is recreated by the next publish with autoCreate', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const old = await tm.publish('work', 'old')
          await tm.admin.deleteTopic('work')
          const ref = await tm.publish('work', 'new')
          assert.notEqual(ref.messageId, old.messageId)
          assert.deepEqual(await consume(tm.reader('work'), 1), ['new'])
        })
      })

      describe('admin.topics', () => {
        it('lists them by name with their settings', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          assert.deepEqual(await tm.admin.topics(), [])
          await tm.admin.configureTopic('b', { semantics: 'pub-sub' })
          await tm.configureTopic('a', { maxAttempts: 3 })
          assert.deepEqual(
            (await tm.admin.topics()).map(({ topic, config }) => [topic, config.semantics, config.maxAttempts]),
            [
              ['a', 'queue', 3],
              ['b', 'pub-sub', 5],
            ],
          )
        })
      })
    })
  }

  for (const store of shared) {
    describe(`${store.name}, shared`, () => {
      it('refuses a reset to what was cleaned up, naming the oldest that is kept', async () => {
        await using database = await store.fresh()
        const tm = await database.open()
        await tm.configureTopic('events', { semantics: 'pub-sub', partitionRows: PARTITION_ROWS })
        const reader = tm.reader('events', { group: 'g' })
        await reader.ready()
        const refs = [await tm.publish('events', 1, { messageId: 'first' })]
        for (const payload of range(2, 25)) refs.push(await tm.publish('events', payload))
        assert.deepEqual(await consume(reader, 25), range(1, 25))
        await database.removeMessagesBelow(PARTITION_ROWS)
        const before = await groupOf(tm, 'events', 'g')
        // A publish that found no partition has used up its ids, so ids do not always equal payloads.
        const kept = range(1, 25).filter(payload => (refs[payload - 1]?.id ?? 0) >= PARTITION_ROWS)
        const oldest = refs[(kept[0] ?? 0) - 1]
        const positions = [{ timestamp: 0 }, { messageId: refs[3]?.messageId ?? '' }, { messageId: 'first' }]
        for (const position of positions) {
          await assert.rejects(tm.admin.resetGroup('events', 'g', position), (error: unknown) => {
            assert.ok(error instanceof PositionGoneError, `${JSON.stringify(position)}: ${error}`)
            assert.equal(error.oldestMessageId, oldest?.messageId)
            assert.ok(error.oldestAt !== null && error.oldestAt.getTime() > 0)
            return true
          })
        }
        const after = await groupOf(tm, 'events', 'g')
        assert.deepEqual([after.epoch, after.watermark, after.backlog], [before.epoch, before.watermark, 0])
        await tm.admin.resetGroup('events', 'g', 'beginning')
        assert.deepEqual(await consume(reader, kept.length), kept)
        assert.equal(await reader.poll(0), null)
      })

      it('deletes a topic that another process consumes and publishes to', async () => {
        await using database = await store.fresh()
        const [here, there] = [await database.open(), await database.open({ autoCreate: false })]
        await here.configureTopic('work', {})
        const stopped = eventsOf(there, 'group-stopped')
        const group = there.consumerGroup('work')
        const deliveries = collect(group)
        await group.start()
        await there.publish('work', 1)
        await happened(deliveries, 1, 'the first')
        await here.admin.deleteTopic('work')
        await happened(stopped, 1, 'the other group to stop')
        assert.ok(stopped[0]?.reason instanceof SubscriptionGoneError, String(stopped[0]?.reason))
        await assert.rejects(there.publish('work', 2), TopicNotFoundError)
        assert.deepEqual(payloadsOf(deliveries), [1])
      })
    })
  }
}
