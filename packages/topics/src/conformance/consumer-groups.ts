import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { type ConsumerGroup, type Delivery, DuplicateConsumerError, MembershipError } from '../index.ts'
import type { ConformanceStores } from './conformance-store.ts'
import { collect, eventsOf, Gate, groupOf, happened, payloadsOf, range } from './consuming.ts'
import { it } from './it.ts'
import { until } from './until.ts'

export function consumerGroups({ stores, shared }: ConformanceStores): void {
  for (const store of stores) {
    describe(store.name, () => {
      describe('the members of a group', () => {
        it('share the messages, and a key always goes to the same member', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const group = tm.consumerGroup('work')
          const members = ['a', 'b', 'c'].map(id => collect(group, id))
          await group.start()
          const keys = range(1, 40).map(number => `customer-${number}-é🙂`)
          for (const round of range(1, 3)) {
            await Promise.all(keys.map(key => tm.publish('work', round, { key })))
          }
          await until(() => members.flat().length === 120, { what: 'all 120' })
          const keysOf = members.map(deliveries => new Set(deliveries.map(({ key }) => key)))
          assert.ok(
            keysOf.every(each => each.size > 0),
            'every member has its share',
          )
          assert.equal(
            keysOf.reduce((sum, each) => sum + each.size, 0),
            40,
          )
        })

        it('share messages without a key too', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const group = tm.consumerGroup('work')
          const members = ['a', 'b'].map(id => collect(group, id))
          await group.start()
          await tm.publishBatch('work', range(1, 60))
          await until(() => members.flat().length === 60, { what: 'all 60' })
          assert.ok(members.every(deliveries => deliveries.length > 0))
        })

        it('take over what a removed member had not started', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const group = tm.consumerGroup('work')
          const gate = new Gate()
          const begun: Delivery[] = []
          group.addConsumer('slow', async message => {
            begun.push(message)
            await gate.passed
          })
          await group.start()
          await tm.publishBatch('work', range(1, 5))
          await happened(begun, 1, 'the slow one to begin')
          const rest = collect(group, 'quick')
          assert.equal(group.removeConsumer('slow'), true)
          assert.equal(group.removeConsumer('slow'), false)
          await happened(rest, 4, 'the other four')
          gate.open()
          await until(async () => (await groupOf(tm, 'work')).inFlight === 0, { what: 'all to be settled' })
          assert.deepEqual([begun.length, rest.length], [1, 4])
          assert.deepEqual(group.consumers, ['quick'])
        })

        it('continue with what a removed member had not started, even if a filter throws', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          // Two attempts: before a last attempt the group waits ten seconds for running handlers.
          await tm.configureTopic('work', { maxAttempts: 2, backoff: { initial: 1, max: 1 } })
          const group = tm.consumerGroup<number>('work')
          const gate = new Gate()
          const begun: Delivery[] = []
          group.addConsumer('slow', async message => {
            begun.push(message)
            await gate.passed
          })
          await group.start()
          await tm.publishBatch('work', range(1, 5))
          await happened(begun, 1, 'the slow one to begin')
          const rest: unknown[] = []
          const filter = ({ payload }: Delivery<number>): boolean => {
            if (payload === 3) throw new Error('not that one')
            return true
          }
          group.addConsumer('quick', ({ payload }) => rest.push(payload), { filter })
          group.removeConsumer('slow')
          await until(() => rest.length === 3, { what: 'the others' })
          gate.open()
          await until(async () => (await tm.admin.deadLetters('work')).length === 1, {
            what: 'the dead letter',
          })
          assert.deepEqual(rest, [2, 4, 5])
        })

        it('respect their concurrency, even if an abandoned handler ends later', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const [hung, held] = [new Gate(), new Gate()]
          let begun = 0
          let running = 0
          let most = 0
          const group = tm.consumerGroup('work').addConsumer('one', async () => {
            if (begun++ === 0) return await hung.passed
            most = Math.max(most, ++running)
            await held.passed
            running--
          })
          await group.start()
          await tm.publishBatch('work', range(1, 5))
          await until(() => begun === 1, { what: 'the first to hang' })
          await group.stop({ timeout: 1 })
          let received = 0
          tm.on('received', ({ count }) => {
            received += count
          })
          await group.start()
          // Or more of them: a claim that was under way at the stop may have returned some, which were then released.
          await until(() => received >= 5 && running === 1, { what: 'all to come again' })
          hung.open()
          for (let turn = 0; turn < 3; turn++) await new Promise(resolve => setImmediate(resolve))
          held.open()
          await until(async () => (await groupOf(tm, 'work')).inFlight === 0 && begun === 6, {
            what: 'all to be handled',
          })
          assert.equal(most, 1)
        })

        it('are at least one in a started group', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const group = tm.consumerGroup('work')
          await assert.rejects(group.start(), MembershipError)
          collect(group, 'last')
          await group.start()
          assert.throws(() => group.removeConsumer('last'), MembershipError)
          await group.stop()
          assert.equal(group.removeConsumer('last'), true)
          await assert.rejects(group.start(), MembershipError)
        })

        it('need a function to handle messages', async () => {
          await using database = await store.fresh()
          const group = (await database.open()).consumerGroup('work')
          assert.throws(() => group.addConsumer('a', 'not a function' as never), MembershipError)
        })
      })

      describe('a consumer id', () => {
        it('identifies one consumer: refused in the same group object', async () => {
          await using database = await store.fresh()
          const group = (await database.open()).consumerGroup('work', 'workers')
          collect(group, 'a')
          assert.throws(() => collect(group, 'a'), DuplicateConsumerError)
        })

        it('is refused in another object of the same group', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('events', { semantics: 'pub-sub' })
          const [first, second] = [tm.consumerGroup('events', 'g'), tm.consumerGroup('events', 'g')]
          collect(first, 'a')
          collect(second, 'a')
          await first.start()
          await assert.rejects(second.start(), DuplicateConsumerError)
          assert.throws(() => collect(tm.consumerGroup('events', 'g'), 'a'), DuplicateConsumerError)
          assert.throws(() => tm.reader('events', { group: 'g', consumer: 'a' }), DuplicateConsumerError)
          collect(tm.consumerGroup('events', 'other'), 'a')
        })

        it('is refused to a second reader', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const first = tm.reader('work', { consumer: 'a' })
          assert.throws(() => tm.reader('work', { consumer: 'a' }), DuplicateConsumerError)
          await first.close()
          await tm.reader('work', { consumer: 'a' }).ready()
        })

        it('is one in a queue, whatever names its groups are given', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const [first, second] = [tm.consumerGroup('work', 'one'), tm.consumerGroup('work', 'two')]
          collect(first, 'a')
          collect(second, 'a')
          await first.start()
          await assert.rejects(second.start(), DuplicateConsumerError)
        })

        it('stays reserved when a group that never started releases its own', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const [idle, running] = [tm.consumerGroup('work'), tm.consumerGroup('work')]
          collect(idle, 'a')
          collect(running, 'a')
          await running.start()
          idle.removeConsumer('a')
          assert.throws(() => collect(tm.consumerGroup('work'), 'a'), DuplicateConsumerError)
        })

        it('is free again after stop', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const first = tm.consumerGroup('work')
          collect(first, 'a')
          await first.start()
          await first.stop()
          const second = tm.consumerGroup('work')
          collect(second, 'a')
          await second.start()
        })
      })

      describe('filters', () => {
        it('of the group and of its members choose; what none accepts counts as processed', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const group: ConsumerGroup<number> = tm.consumerGroup<number>('work', 'g', { filter: m => m.payload <= 8 })
          const [even, high]: [number[], number[]] = [[], []]
          group.addConsumer('even', m => even.push(m.payload), { filter: m => m.payload % 2 === 0 && m.payload < 5 })
          group.addConsumer('high', m => high.push(m.payload), { filter: m => m.payload > 5 })
          const filtered = eventsOf(tm, 'filtered')
          await group.start()
          await tm.publishBatch('work', range(1, 10))
          await until(() => tm.metrics().totals.acked === 10, { what: 'all ten to be done with' })
          assert.deepEqual(even, [2, 4])
          assert.deepEqual(high, [6, 7, 8])
          assert.equal(filtered.length, 5)
          assert.equal(tm.metrics().totals.filtered, 5)
          const { inFlight, retries, deadLetters } = await groupOf(tm, 'work')
          assert.deepEqual({ inFlight, retries, deadLetters }, { inFlight: 0, retries: 0, deadLetters: 0 })
        })

        it('that throw cause a failed attempt of that message only', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('work', { maxAttempts: 1 })
          const filter = ({ payload }: Delivery<number>): boolean => {
            if (payload === 2) throw new TypeError('of the filter')
            return true
          }
          for (const [topic, options] of Object.entries({ work: { filter }, other: {} })) {
            await tm.configureTopic(topic, { maxAttempts: 1 })
            const group = tm.consumerGroup<number>(topic, 'g', options)
            const payloads: number[] = []
            group.addConsumer('a', m => payloads.push(m.payload), topic === 'other' ? { filter } : {})
            await group.start()
            await tm.publishBatch(topic, [1, 2, 3])
            await until(async () => (await tm.admin.deadLetters(topic)).length === 1, { what: 'the dead letter' })
            await happened(payloads, 2, 'the two others')
            assert.deepEqual(payloads, [1, 3])
            const [letter] = await tm.admin.deadLetters(topic)
            assert.deepEqual(letter?.error, { name: 'TypeError', message: 'of the filter' })
          }
        })
      })

      describe('concurrency', () => {
        it('limits the concurrent handlers of a member, and is fully used', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const group = tm.consumerGroup('work')
          let running = 0
          let most = 0
          let done = 0
          const handler = async (): Promise<void> => {
            most = Math.max(most, ++running)
            await new Promise(resolve => setImmediate(resolve))
            running--
            done++
          }
          group.addConsumer('a', handler, { concurrency: 3 })
          await group.start()
          await tm.publishBatch('work', range(1, 100))
          await until(() => done === 100, { what: 'all 100' })
          assert.equal(most, 3)
        })

        it('is 1 by default', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const group = tm.consumerGroup('work')
          const gate = new Gate()
          let running = 0
          group.addConsumer('a', async () => {
            running++
            await gate.passed
          })
          await group.start()
          await tm.publishBatch('work', range(1, 10))
          await until(() => running > 0, { what: 'a handler to run' })
          await until(async () => (await groupOf(tm, 'work')).inFlight === 10, { what: 'all ten to be claimed' })
          assert.equal(running, 1)
          gate.open()
        })
      })

      describe('a slow group', () => {
        it('claims no more than it can process soon, and continues when it can', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.publishBatch('work', range(1, 60))
          const group = tm.consumerGroup('work', 'g', { batchSize: 5 })
          const outstanding: number[] = []
          const payloads: unknown[] = []
          group.addConsumer('a', async message => {
            outstanding.push(tm.metrics().totals.received - payloads.length)
            await new Promise(resolve => setImmediate(resolve))
            payloads.push(message.payload)
          })
          await group.start()
          await happened(payloads, 60, 'all 60')
          assert.deepEqual(payloads, range(1, 60))
          const most = Math.max(...outstanding)
          assert.ok(most > 1 && most <= 10, `${most} were claimed and not finished`)
        })
      })

      describe('a group', () => {
        it('processes messages with several members at their own pace', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const group = tm.consumerGroup('work', 'g', { batchSize: 10 })
          const quick = collect(group, 'quick')
          const gate = new Gate()
          group.addConsumer('stuck', () => gate.passed, { filter: m => m.key === 'stuck' })
          await group.start()
          await tm.publish('work', 0, { key: 'stuck' })
          await tm.publishBatch('work', range(1, 30))
          await until(() => quick.length >= 30, { what: 'the quick one to pass the stuck one' })
          gate.open()
          await until(() => tm.metrics().totals.acked === 31, { what: 'the stuck one to end too' })
        })
      })
    })
  }

  for (const store of shared) {
    describe(store.name, () => {
      describe('one group in two instances', () => {
        it('processes every message once', async () => {
          await using database = await store.fresh()
          const instances = [await database.open(), await database.open()]
          const deliveries: Delivery[][] = []
          for (const tm of instances) {
            await tm.configureTopic('events', { semantics: 'pub-sub' })
            const group = tm.consumerGroup('events', 'g', { batchSize: 5 })
            deliveries.push(collect(group))
            await group.start()
          }
          await instances[0]?.publishBatch('events', range(1, 200))
          await until(() => deliveries.flat().length >= 200, { what: 'all 200' })
          const payloads = payloadsOf(deliveries.flat()).toSorted((a, b) => Number(a) - Number(b))
          assert.deepEqual(payloads, range(1, 200))
        })
      })
    })
  }
}
