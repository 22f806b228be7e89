import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { type Delivery, StaleDeliveryError } from '../index.ts'
import type { ConformanceStores } from './conformance-store.ts'
import { consume, eventsOf, Gate, groupOf, happened, range, receive } from './consuming.ts'
import { it } from './it.ts'
import { until } from './until.ts'

export function settling({ stores, shared }: ConformanceStores): void {
  for (const store of stores) {
    describe(store.name, () => {
      describe('an ack', () => {
        it('can be repeated, and counts once', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.publish('work', 1)
          const delivery = await receive(tm.reader('work'))
          await Promise.all([delivery.ack(), delivery.ack()])
          await delivery.ack()
          assert.equal(tm.metrics().totals.acked, 1)
          const { inFlight, retries, backlog } = await groupOf(tm, 'work')
          assert.deepEqual({ inFlight, retries, backlog }, { inFlight: 0, retries: 0, backlog: 0 })
        })

        it('stands, whatever settlement follows', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.publish('work', 1)
          const reader = tm.reader('work')
          const delivery = await receive(reader)
          await delivery.ack()
          await delivery.nack('after all', { delay: 0 })
          assert.equal(await reader.poll(0), null)
          assert.equal(tm.metrics().totals.nacked, 0)
        })
      })

      describe('a nack', () => {
        it('redelivers the message, with attempt and version one higher each time', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('work', { backoff: { initial: 1, max: 2, factor: 2 } })
          await tm.publish('work', 'hard', { key: 'k', headers: { trace: '7' } })
          const reader = tm.reader('work')
          for (const attempt of range(1, 4)) {
            const delivery = await receive(reader)
            assert.deepEqual([delivery.attempt, delivery.version], [attempt, attempt])
            assert.deepEqual([delivery.payload, delivery.key, delivery.headers], ['hard', 'k', { trace: '7' }])
            await reader.nack(delivery, new Error(`failure ${attempt}`))
          }
          await reader.ack(await receive(reader))
          assert.equal(await reader.poll(0), null)
          assert.deepEqual(await tm.admin.deadLetters('work'), [])
        })

        it('waits longer each time, by the backoff of the topic', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('work', { backoff: { initial: '1h', max: '5h', factor: 3 } })
          const nacked = eventsOf(tm, 'nacked')
          const reader = tm.reader('work')
          await tm.publish('work', 1)
          await (await receive(reader)).nack('first', { delay: 0 })
          await (await receive(reader)).nack('second', { delay: 0 })
          await (await receive(reader)).nack('third')
          assert.equal(await reader.poll(0), null)
          await tm.publish('work', 2)
          await (await receive(reader)).nack('first')
          const hours = nacked.map(({ retryInMs }) => Math.round((retryInMs ?? 0) / 3_600_000))
          assert.deepEqual(hours, [0, 0, 5, 1])
        })

        it('holds back the message for the delay it asks for, and no other', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.publishBatch('work', ['later', 'now'])
          const reader = tm.reader('work')
          await (await receive(reader)).nack('not yet', { delay: '1h' })
          assert.deepEqual(await consume(reader, 1), ['now'])
          assert.equal(await reader.poll(0), null)
          assert.equal((await groupOf(tm, 'work')).retries, 1)
        })
      })

      describe('a message out of attempts', () => {
        it('becomes exactly one dead letter, with all its data and the reason', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('orders', { semantics: 'pub-sub', maxAttempts: 3 })
          const [reader, other] = [tm.reader('orders', { group: 'mail' }), tm.reader('orders', { group: 'audit' })]
          await Promise.all([reader.ready(), other.ready()])
          const ref = await tm.publish('orders', { orderId: 7 }, { key: 'customer-3', headers: { trace: '42' } })
          const before = Date.now()
          for (const attempt of range(1, 3)) {
            await (await receive(reader)).nack(new RangeError(`failure ${attempt}`), { delay: 0 })
          }
          assert.equal(await reader.poll(0), null)
          const letters = await tm.admin.deadLetters('orders')
          const [letter] = letters
          assert.ok(letters.length === 1 && letter)
          const { id, createdAt, deadAt, history, ...rest } = letter
          assert.deepEqual(rest, {
            topic: 'orders',
            group: 'mail',
            messageId: ref.messageId,
            logId: ref.id,
            key: 'customer-3',
            type: 'json',
            headers: { trace: '42' },
            payload: '{"orderId":7}',
            attempts: 3,
            error: { name: 'RangeError', message: 'failure 3' },
          })
          assert.deepEqual(
            history.map(({ attempt, name, message }) => ({ attempt, name, message })),
            range(1, 3).map(attempt => ({ attempt, name: 'RangeError', message: `failure ${attempt}` })),
          )
          for (const { at } of history) assert.ok(Math.abs(at - before) < 60_000)
          assert.ok(id > 0 && deadAt >= createdAt)
          const { inFlight, retries, backlog, deadLetters } = await groupOf(tm, 'orders', 'mail')
          assert.deepEqual(
            { inFlight, retries, backlog, deadLetters },
            {
              inFlight: 0,
              retries: 0,
              backlog: 0,
              deadLetters: 1,
            },
          )
          assert.deepEqual([tm.metrics().totals.nacked, tm.metrics().totals.deadLettered], [3, 1])
          assert.equal((await receive(other)).attempt, 1)
        })

        it('is dead-lettered at the first failure if maxAttempts is 1', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('work', { maxAttempts: 1 })
          await tm.publishBatch('work', range(1, 3))
          const reader = tm.reader('work', { batchSize: 3 })
          await (await receive(reader)).ack()
          await (await receive(reader)).nack('broken')
          await (await receive(reader)).ack()
          const letters = await tm.admin.deadLetters('work')
          assert.deepEqual(
            letters.map(({ payload, attempts, error }) => ({ payload, attempts, error })),
            [{ payload: '2', attempts: 1, error: { name: 'Error', message: 'broken' } }],
          )
          assert.equal(await reader.poll(0), null)
        })

        it('is listed page by page, by group', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('work', { semantics: 'pub-sub', maxAttempts: 1 })
          for (const name of ['a', 'b']) {
            const reader = tm.reader('work', { group: name, from: 'beginning' })
            if (name === 'a') await tm.publishBatch('work', range(1, 5))
            for (const _ of range(1, 5)) await (await receive(reader)).nack(`of ${name}`)
          }
          const first = await tm.admin.deadLetters('work', { group: 'b', limit: 3 })
          const rest = await tm.admin.deadLetters('work', { group: 'b', after: first.at(-1)?.id ?? 0 })
          assert.deepEqual(
            [...first, ...rest].map(({ group, payload }) => `${group}${payload}`),
            ['b1', 'b2', 'b3', 'b4', 'b5'],
          )
          assert.equal((await tm.admin.deadLetters('work')).length, 10)
        })
      })

      describe('a reader that closes', () => {
        it('releases what it had not started, and returns what it had as a failed attempt', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.publishBatch('work', ['begun', 'waiting', 'done'])
          const first = tm.reader('work', { batchSize: 3 })
          const begun = await receive(first)
          await first.close()
          await first.close()
          const second = tm.reader('work', { batchSize: 3 })
          const again = [await receive(second), await receive(second), await receive(second)]
          const seen = new Map(again.map(({ payload, attempt, version }) => [payload, { attempt, version }]))
          assert.deepEqual(seen.get('begun'), { attempt: 2, version: 2 })
          assert.deepEqual(seen.get('waiting'), { attempt: 1, version: 2 })
          assert.deepEqual(seen.get('done'), { attempt: 1, version: 2 })
          await assert.rejects(begun.ack(), StaleDeliveryError)
        })
      })

      describe('a group that stops', () => {
        it('releases at once what it had not started, without counting an attempt', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.publishBatch('work', range(1, 5))
          const group = tm.consumerGroup('work')
          const gate = new Gate()
          const started: Delivery[] = []
          group.addConsumer('slow', async message => {
            started.push(message)
            await gate.passed
          })
          await group.start()
          await happened(started, 1, 'the first handler')
          const stopped = group.stop()
          await until(() => tm.metrics().totals.released === 4, { what: 'the four others to be given back' })
          gate.open()
          await stopped
          const reader = tm.reader('work')
          const rest: [unknown, number, number][] = []
          for (const _ of range(2, 5)) {
            const { payload, attempt, version } = await receive(reader)
            rest.push([payload, attempt, version])
          }
          assert.deepEqual(
            rest,
            [2, 3, 4, 5].map(number => [number, 1, 2]),
          )
          assert.equal(started.length, 1)
        })
      })
    })
  }

  for (const store of shared) {
    describe(store.name, () => {
      describe('extend', () => {
        it('keeps the lease past its term', async () => {
          await using database = await store.fresh()
          const [here, there] = [await database.open(), await database.open()]
          await here.publish('work', 1)
          const held = await receive(here.reader('work'))
          await database.expireLeases()
          await held.extend('1h')
          const other = there.reader('work')
          assert.equal(await other.poll(0), null)
          await held.ack()
          assert.equal(await other.poll(0), null)
        })

        it('may also end it early', async () => {
          await using database = await store.fresh()
          const [here, there] = [await database.open(), await database.open()]
          await here.publish('work', 1)
          await (await receive(here.reader('work'))).extend(1)
          assert.equal((await receive(there.reader('work'))).version, 2)
        })

        it('is stale once the message was taken over', async () => {
          await using database = await store.fresh()
          const [here, there] = [await database.open(), await database.open()]
          await here.publish('work', 1)
          const held = await receive(here.reader('work'))
          await database.expireLeases()
          const taken = await receive(there.reader('work'))
          await assert.rejects(held.extend(), StaleDeliveryError)
          await taken.ack()
        })
      })

      describe('a message whose leases expire', () => {
        it('becomes a dead letter after maxAttempts, with the reason', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('work', { maxAttempts: 2 })
          await tm.publish('work', 'poison')
          const deadLettered = eventsOf(tm, 'dead-lettered')
          for (const consumer of ['victim-1', 'victim-2']) {
            await receive((await database.open()).reader('work', { consumer }))
            await database.expireLeases()
          }
          assert.equal(await tm.reader('work').poll(0), null)
          assert.deepEqual(deadLettered, [{ topic: 'work', group: '', count: 1 }])
          const [letter] = await tm.admin.deadLetters('work')
          assert.deepEqual([letter?.payload, letter?.attempts], ['"poison"', 2])
          assert.deepEqual(
            letter?.history.map(({ name }) => name),
            ['LeaseExpiredError', 'LeaseExpiredError'],
          )
          assert.match(letter?.error.message ?? '', /victim-2/)
          const { inFlight, retries } = await groupOf(tm, 'work')
          assert.deepEqual({ inFlight, retries }, { inFlight: 0, retries: 0 })
        })

        it('spares its page: on their last attempt messages are tried alone', async () => {
          await using database = await store.fresh()
          const [tm, victim] = [await database.open(), await database.open()]
          await tm.configureTopic('work', { maxAttempts: 2 })
          await tm.publishBatch('work', range(1, 3))
          await receive(victim.reader('work', { batchSize: 3 }))
          await database.expireLeases()
          const second = tm.reader('work', { batchSize: 3 })
          const suspect = await receive(second)
          assert.equal((await groupOf(tm, 'work')).inFlight, 1)
          await suspect.ack()
          await consume(second, 2)
          await until(async () => (await groupOf(tm, 'work')).inFlight === 0, { what: 'all to be settled' })
        })
      })
    })
  }
}
