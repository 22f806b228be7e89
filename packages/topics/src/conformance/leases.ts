import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { type Delivery, StaleDeliveryError, type Tidemark } from '../index.ts'
import type { ConformanceDatabase, ConformanceStore, ConformanceStores } from './conformance-store.ts'
import { consume, eventsOf, groupOf, range, receive } from './consuming.ts'
import { it } from './it.ts'
import { until } from './until.ts'

export function leases({ stores, shared }: ConformanceStores): void {
  for (const store of stores) {
    describe(store.name, () => {
      it('gives a message to another when its lease has expired, at the next version', async () => {
        await using database = await store.fresh()
        const tm = await database.open()
        await tm.publish('work', 'stuck')
        // On a busy machine the first may lose its own claim, and claim the message again, before it has it in hand.
        const first = tm.reader('work', { consumer: 'first', lease: '200ms' })
        const second = tm.reader('work', { consumer: 'second' })
        const takenOver = eventsOf(tm, 'taken-over')
        const held = await receive(first)
        const taken = await receive(second)
        assert.deepEqual([taken.payload, taken.messageId], ['stuck', held.messageId])
        const { id, messageId, version } = held
        assert.deepEqual([taken.version, taken.attempt], [version + 1, version + 1])
        const messages = [{ id, messageId, version }]
        const last = { topic: 'work', group: '', consumer: 'first', by: 'second', count: 1, messages }
        assert.deepEqual(takenOver.at(-1), last)
        const { totals, topics } = tm.metrics()
        assert.equal(totals.takenOver, version)
        assert.equal(topics.work?.groups['']?.totals.takenOver, version)
      })
    })
  }

  for (const store of shared) {
    describe(store.name, () => {
      describe('a stale ack', () => {
        it('is rejected and counted, and nothing is delivered again', async () => {
          await using test = await reassigned(store)
          const { here, there, held, taken } = test
          const stale = eventsOf(here, 'stale')
          await taken.ack()
          await assert.rejects(held.ack(), (error: unknown) => {
            assert.ok(error instanceof StaleDeliveryError)
            assert.equal(error.code, 'TIDEMARK_STALE_DELIVERY')
            assert.deepEqual([error.topic, error.group, error.version], ['work', '', 1])
            assert.equal(error.messageId, held.messageId)
            return true
          })
          assert.deepEqual(stale, [{ topic: 'work', group: '', messageId: held.messageId, version: 1, count: 1 }])
          assert.equal(here.metrics().totals.staleRejected, 1)
          assert.equal(here.metrics().totals.acked, 0)
          assert.equal(await here.reader('work').poll(0), null)
          assert.equal(await there.reader('work').poll(0), null)
        })

        it('changes nothing while the other still works', async () => {
          await using test = await reassigned(store)
          const { here, held, taken } = test
          await assert.rejects(held.ack(), StaleDeliveryError)
          assert.equal((await groupOf(here, 'work')).inFlight, 1)
          await taken.nack('try again', { delay: 0 })
          assert.equal((await receive(here.reader('work'))).version, 3)
        })

        it('is stale the second time too', async () => {
          await using test = await reassigned(store)
          await assert.rejects(test.held.ack(), StaleDeliveryError)
          await assert.rejects(test.held.ack(), StaleDeliveryError)
        })
      })

      describe('a stale nack', () => {
        it('changes nothing and reports it', async () => {
          await using test = await reassigned(store)
          const { here, held, taken } = test
          await assert.rejects(held.nack('too late', { delay: 0 }), StaleDeliveryError)
          const { inFlight, retries } = await groupOf(here, 'work')
          assert.deepEqual({ inFlight, retries }, { inFlight: 1, retries: 0 })
          await taken.ack()
          assert.equal(await here.reader('work').poll(0), null)
          assert.deepEqual(await here.admin.deadLetters('work'), [])
        })
      })

      it('reports no stale delivery if an extension meets the ack of the same consumer', async () => {
        await using database = await store.fresh()
        const tm = await database.open()
        await tm.configureTopic('work', {})
        await tm.publish('work', 'done soon')
        const stale = eventsOf(tm, 'stale')
        const held = await receive(tm.reader('work'))
        await held.ack()
        await assert.rejects(held.extend(), StaleDeliveryError)
        assert.deepEqual(stale, [])
      })

      describe('a stale extend', () => {
        it('changes nothing and reports it', async () => {
          await using test = await reassigned(store)
          const { here, held, database } = test
          await assert.rejects(held.extend('1h'), StaleDeliveryError)
          assert.equal(here.metrics().totals.staleRejected, 1)
          await database.expireLeases()
          assert.equal((await receive(here.reader('work'))).version, 3)
        })
      })

      describe('an ack after the lease expired, that nobody has taken over', () => {
        it('still counts: nobody else has the message', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.publish('work', 1)
          const reader = tm.reader('work')
          const held = await receive(reader)
          await database.expireLeases()
          await held.ack()
          assert.equal(await reader.poll(0), null)
        })
      })

      describe('lease: 0', () => {
        it('never gives a message to another', async () => {
          await using database = await store.fresh()
          const [here, there] = [await database.open(), await database.open()]
          await here.configureTopic('work', { lease: 0 })
          await here.publish('work', 'kept')
          const held = await receive(here.reader('work'))
          await database.expireLeases()
          const second = there.reader('work')
          assert.equal(await second.poll(0), null)
          assert.equal(there.metrics().totals.takenOver, 0)
          await held.ack()
          assert.equal(await second.poll(0), null)
        })

        it('still retries a nacked message', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('work', { lease: 0 })
          await tm.publish('work', 1)
          const reader = tm.reader('work')
          await (await receive(reader)).nack('again', { delay: 0 })
          const again = await receive(reader)
          assert.equal(again.version, 2)
          await database.expireLeases()
          assert.equal(await reader.poll(0), null)
        })
      })

      describe('a page of which a part is settled when its lease expires', () => {
        it('gives only the rest to others, each at its next version', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.publishBatch('work', range(1, 6))
          const [first, second] = [tm.reader('work', { batchSize: 6 }), tm.reader('work', { batchSize: 6 })]
          const page: Delivery[] = []
          while (page.length < 6) page.push(await receive(first))
          await Promise.all([page[1]?.ack(), page[4]?.ack()])
          await page[2]?.nack('later', { delay: '1h' })
          await database.expireLeases()
          const rest: [unknown, number][] = []
          for (let count = 0; count < 3; count++) {
            const delivery = await receive(second)
            rest.push([delivery.payload, delivery.version])
            await delivery.ack()
          }
          assert.deepEqual(rest, [
            [1, 2],
            [4, 2],
            [6, 2],
          ])
          assert.equal(await second.poll(0), null)
          // What was settled in time may be repeated; the rest is stale.
          await page[1]?.ack()
          await assert.rejects(async () => await page[0]?.ack(), StaleDeliveryError)
          const { inFlight, retries } = await groupOf(tm, 'work')
          assert.deepEqual({ inFlight, retries }, { inFlight: 0, retries: 1 })
        })
      })

      describe('a subscription that was removed', () => {
        it('makes every settlement of its page stale', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.publishBatch('work', range(1, 3))
          const reader = tm.reader('work', { batchSize: 3 })
          const page = [await receive(reader), await receive(reader), await receive(reader)]
          await database.forgetLeases()
          const results = await Promise.allSettled(page.map(delivery => delivery.ack()))
          assert.deepEqual(
            results.map(result => result.status === 'rejected' && result.reason instanceof StaleDeliveryError),
            [true, true, true],
          )
        })
      })

      describe('the watermark', () => {
        it('never decreases, and ends past everything', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const seen: bigint[] = []
          const look = async () => seen.push((await groupOf(tm, 'work')).watermark)
          const reader = tm.reader('work', { batchSize: 2 })
          await reader.ready()
          await look()
          await tm.publishBatch('work', range(1, 4))
          const first = await receive(reader)
          await look()
          await first.nack('later', { delay: 0 })
          await look()
          await (await receive(reader)).ack()
          await look()
          await database.expireLeases()
          await consume(reader, 3)
          await look()
          await tm.publish('work', 5)
          await consume(reader, 1)
          await until(async () => (await groupOf(tm, 'work')).inFlight === 0, { what: 'all to be settled' })
          // On PostgreSQL it waits for writers of the whole server, including other tests, and moves with the next
          // claim.
          const isPast = async () => {
            await look()
            await reader.poll(0)
            return (seen.at(-1) ?? 0n) > (seen[0] ?? 0n)
          }
          await until(isPast, { what: 'the watermark to be past everything' })
          assert.deepEqual(seen, seen.toSorted(byValue))
        })
      })
    })
  }
}

/** A message that one instance holds (stale) and another has taken over. */
async function reassigned(store: ConformanceStore) {
  const database: ConformanceDatabase = await store.fresh()
  const [here, there]: Tidemark[] = [await database.open(), await database.open()]
  assert.ok(here && there)
  await here.publish('work', 'stuck')
  const held = await receive(here.reader('work'))
  assert.equal(held.version, 1)
  await database.expireLeases()
  const taken = await receive(there.reader('work'))
  assert.equal(taken.version, 2)
  return { database, here, there, held, taken, [Symbol.asyncDispose]: () => database[Symbol.asyncDispose]() }
}

const byValue = (a: bigint, b: bigint): number => (a < b ? -1 : a > b ? 1 : 0)
