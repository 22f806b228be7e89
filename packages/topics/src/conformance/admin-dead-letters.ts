import assert from 'node:assert/strict'
import { describe } from 'node:test'
import type { Tidemark } from '../index.ts'
import type { ConformanceStores } from './conformance-store.ts'
import { consume, eventsOf, groupOf, range, receive } from './consuming.ts'
import { it } from './it.ts'

const OTHER = Object.assign(new Error('of another kind'), { name: 'OtherError' })

/** Publishes these payloads and lets the group fail each on its only attempt. */
async function bury(tm: Tidemark, group: string, payloads: readonly number[], error: Error = new Error('no')) {
  const reader = tm.reader('events', { group, batchSize: 1 })
  await reader.ready()
  for (const payload of payloads) {
    await tm.publish('events', payload, { key: `key-${payload % 2}` })
    await (await receive(reader)).nack(error)
  }
  return reader
}

const PARTITION_ROWS = 10
const CONFIG = { semantics: 'pub-sub', maxAttempts: 1, partitionRows: PARTITION_ROWS } as const

export function adminDeadLetters({ stores, shared }: ConformanceStores): void {
  for (const store of stores) {
    describe(store.name, () => {
      describe('a dead letter that is redriven', () => {
        it('is delivered again to its group alone, with all its attempts', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('events', { ...CONFIG, maxAttempts: 2, backoff: { initial: 0, max: 0 } })
          const other = tm.reader('events', { group: 'other' })
          await other.ready()
          const reader = tm.reader('events', { group: 'g' })
          await reader.ready()
          await tm.publish('events', 1)
          await (await receive(reader)).nack(new Error('first'))
          const second = await receive(reader)
          assert.deepEqual([second.attempt, second.version], [2, 2])
          await second.nack(new Error('second'))
          assert.deepEqual(await consume(other, 1), [1])

          const [letter] = await tm.admin.deadLetters('events')
          assert.deepEqual(await tm.admin.deadLetter('events', letter?.id ?? 0), letter)
          const events = eventsOf(tm, 'redriven')
          const result = await tm.admin.redrive('events', { ids: [letter?.id ?? 0] })
          assert.deepEqual(result, { redriven: 1, gone: 0, orphaned: 0 })
          assert.deepEqual(events, [{ topic: 'events', count: 1 }])
          assert.deepEqual(await tm.admin.deadLetters('events'), [])
          assert.equal(await tm.admin.deadLetter('events', letter?.id ?? 0), undefined)

          const again = await receive(reader)
          assert.deepEqual([again.payload, again.attempt, again.version], [1, 1, 3])
          await again.nack(new Error('third'))
          await (await receive(reader)).nack(new Error('fourth'))
          const [dead] = await tm.admin.deadLetters('events')
          assert.deepEqual(
            dead?.history.map(({ message }) => message),
            ['first', 'second', 'third', 'fourth'],
          )
          assert.equal(await other.poll(0), null)
        })

        it('is delivered once more, not twice, if its group was reset to a position before it', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('events', { ...CONFIG, maxAttempts: 2, backoff: { initial: 0, max: 0 } })
          const reader = tm.reader('events', { group: 'g', batchSize: 10 })
          await reader.ready()
          await tm.publishBatch('events', [1, 2])
          for (const attempt of [1, 2]) {
            for (const delivery of [await receive(reader), await receive(reader)]) {
              assert.equal(delivery.attempt, attempt)
              await delivery.nack(new Error('no'))
            }
          }
          await tm.admin.resetGroup('events', 'g', 'beginning')
          assert.equal((await tm.admin.redrive('events', { group: 'g' })).redriven, 2)
          for (const attempt of [1, 2]) {
            const deliveries = [await receive(reader), await receive(reader)]
            assert.deepEqual(
              deliveries.map(each => [each.payload, each.attempt]),
              [1, 2].map(payload => [payload, attempt]),
            )
            await Promise.all(deliveries.map(delivery => delivery.nack(new Error('no'))))
          }
          assert.equal(await reader.poll(0), null)
          assert.equal((await tm.admin.deadLetters('events')).length, 2)
        })

        it('is delivered once more if a page that it belongs to is held at that moment', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('events', { ...CONFIG, maxAttempts: 1 })
          const reader = tm.reader('events', { group: 'g', batchSize: 10 })
          await reader.ready()
          await tm.publish('events', 1)
          await (await receive(reader)).nack(new Error('no'))
          await tm.admin.resetGroup('events', 'g', 'beginning')
          const held = await receive(reader)
          assert.equal((await tm.admin.redrive('events', { group: 'g' })).redriven, 1)
          await held.nack(new Error('again'))
          assert.equal(await reader.poll(0), null)
          assert.equal((await tm.admin.deadLetters('events')).length, 1)
        })

        it('is selected by id, group, error, key or time, or all', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('events', CONFIG)
          await bury(tm, 'g', range(1, 4))
          await bury(tm, 'g', [5], OTHER)
          await tm.admin.cancelGroup('events', 'g')
          const count = async () => (await tm.admin.deadLetters('events')).length
          assert.equal(await count(), 5)
          assert.deepEqual(await tm.admin.redrive('events', { all: true }), { redriven: 0, gone: 0, orphaned: 5 })

          const letters = await tm.admin.deadLetters('events')
          assert.equal(await tm.admin.discard('events', { errorName: 'OtherError' }), 1)
          assert.equal(await tm.admin.discard('events', { errorName: 'OtherError' }), 0)
          assert.equal(await tm.admin.discard('events', { key: 'key-1', limit: 1 }), 1)
          assert.equal(await tm.admin.discard('events', { group: 'another' }), 0)
          assert.equal(await tm.admin.discard('events', { type: 'bytes' }), 0)
          assert.equal(await tm.admin.discard('events', { until: new Date(0) }), 0)
          assert.equal(await tm.admin.discard('events', { ids: [letters[1]?.id ?? 0], type: 'json' }), 1)
          assert.deepEqual(
            (await tm.admin.deadLetters('events')).map(({ payload }) => payload),
            ['3', '4'],
          )
          assert.equal(await tm.admin.discard('events', { all: true, since: new Date(0) }), 2)
          assert.equal(await count(), 0)
        })

        it('comes back in pages, however many there are', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('events', { ...CONFIG, partitionRows: 10_000 })
          const reader = tm.reader('events', { group: 'g', batchSize: 500 })
          await reader.ready()
          await tm.publishBatch('events', range(1, 2_100))
          await Promise.all(range(1, 2_100).map(async () => (await receive(reader)).nack(new Error('no'))))
          assert.equal((await groupOf(tm, 'events', 'g')).deadLetters, 2_100)
          assert.equal((await tm.admin.redrive('events', { group: 'g', limit: 50 })).redriven, 50)
          assert.equal((await tm.admin.redrive('events', { group: 'g' })).redriven, 2_050)
          const { deadLetters, retries } = await groupOf(tm, 'events', 'g')
          assert.deepEqual([deadLetters, retries], [0, 2_100])
          const payloads = await consume(reader, 2_100)
          assert.equal(new Set(payloads).size, 2_100)
        })
      })
    })
  }

  for (const store of shared) {
    describe(`${store.name}, shared`, () => {
      it('keeps a dead letter whose message was cleaned up, and reports it', async () => {
        await using database = await store.fresh()
        const tm = await database.open()
        await tm.configureTopic('events', CONFIG)
        const reader = await bury(tm, 'g', range(1, 12))
        await database.removeMessagesBelow(PARTITION_ROWS)
        assert.deepEqual(await tm.admin.redrive('events', { all: true }), { redriven: 3, gone: 9, orphaned: 0 })
        assert.deepEqual(await consume(reader, 3), [10, 11, 12])
        assert.equal(await reader.poll(0), null)
        const letters = await tm.admin.deadLetters('events')
        assert.deepEqual(
          letters.map(({ payload }) => Number(payload)),
          range(1, 9),
        )
      })
    })
  }
}
