import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { inspect } from 'node:util'
import { ClosedError, type Reader } from '../index.ts'
import type { ConformanceStores } from './conformance-store.ts'
import { collect, consume, eventsOf, happened, payloadsOf, range, receive, soon } from './consuming.ts'
import { it } from './it.ts'

export function writeAndRead({ stores, shared }: ConformanceStores): void {
  for (const store of stores) {
    describe(store.name, () => {
      describe('a message', () => {
        it('is read as it was written, at version 1 and attempt 1', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('batches', { semantics: 'pub-sub' })
          const reader = tm.reader('batches', { group: 'indexers', from: 'beginning' })
          const before = Date.now()
          const ref = await tm.writer('batches').send({ tickStart: 0, tickEnd: 100 })
          const delivery = await receive(reader)
          assert.deepEqual(delivery.payload, { tickStart: 0, tickEnd: 100 })
          assert.equal(delivery.topic, 'batches')
          assert.equal(delivery.group, 'indexers')
          assert.equal(delivery.version, 1)
          assert.equal(delivery.attempt, 1)
          assert.equal(delivery.type, 'json')
          assert.equal(delivery.key, null)
          assert.deepEqual(delivery.headers, {})
          assert.deepEqual([delivery.id, delivery.messageId], [ref.id, ref.messageId])
          assert.ok(delivery.id > 0)
          // The database may be on another machine with another clock: a minute is close enough.
          assert.ok(Math.abs(delivery.createdAt.getTime() - before) < 60_000)
        })

        it('is stored when its writer has closed, which sends no more', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('work')
          const writer = tm.writer('work')
          let isStored = false
          void writer.send(1).then(() => {
            isStored = true
          })
          await writer.close()
          assert.ok(isStored)
          await assert.rejects(writer.send(2), ClosedError)
        })

        it('prints and serialises as a message, without the machinery behind it', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.publish('work', { n: 1 }, { key: 'k', messageId: 'm' })
          const delivery = await receive(tm.reader('work'))
          const { createdAt, ...rest } = JSON.parse(JSON.stringify(delivery))
          assert.equal(createdAt, delivery.createdAt.toISOString())
          const { id } = delivery
          const expected = { topic: 'work', group: '', id, messageId: 'm', key: 'k', type: 'json', headers: {} }
          assert.deepEqual(rest, { ...expected, payload: { n: 1 }, attempt: 1, version: 1 })
          assert.match(inspect(delivery), /messageId: 'm'/)
          assert.doesNotMatch(inspect(delivery), /lease|engine/i)
        })

        it('is not read again after its ack', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const reader = tm.reader('work')
          await tm.publish('work', 1)
          await reader.ack(await receive(reader))
          assert.equal(await reader.poll(0), null)
        })

        it('is found by a receive() that began after it was written', async () => {
          await using database = await store.fresh()
          const tm = await database.open({ sweepInterval: '1h' })
          await tm.publish('work', 'early')
          assert.equal((await tm.reader('work').receive()).payload, 'early')
        })
      })

      describe('two groups', () => {
        it('both read every message, and the ack of one does not touch the other', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('batches', { semantics: 'pub-sub' })
          const [a, b] = [tm.reader('batches', { group: 'a' }), tm.reader('batches', { group: 'b' })]
          await Promise.all([a.ready(), b.ready()])
          await tm.publish('batches', 'hello')
          const [ofA, ofB] = [await receive(a), await receive(b)]
          assert.deepEqual([ofA.payload, ofB.payload], ['hello', 'hello'])
          await a.ack(ofA)
          assert.equal(await a.poll(0), null)
          await b.nack(ofB, 'not yet', { delay: 0 })
          assert.equal((await receive(b)).attempt, 2)
          assert.equal(await a.poll(0), null)
        })
      })

      describe('a new group', () => {
        it('replays what others have already read', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('batches', { semantics: 'pub-sub' })
          await tm.publishBatch('batches', range(1, 3))
          const first = tm.reader('batches', { group: 'first', from: 'beginning' })
          assert.deepEqual(await consume(first, 3), [1, 2, 3])
          const late = tm.reader('batches', { group: 'late', from: 'beginning' })
          assert.deepEqual(await consume(late, 3), [1, 2, 3])
          assert.equal(await late.poll(0), null)
        })
      })

      describe('one consumer', () => {
        it('gets the messages in the order they were published', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const group = tm.consumerGroup('work', 'workers', { batchSize: 7 })
          const deliveries = collect(group)
          await group.start()
          for (const page of [range(1, 100), range(101, 200)]) {
            await Promise.all(page.map(number => tm.publish('work', number)))
          }
          await happened(deliveries, 200, 'all 200')
          assert.deepEqual(payloadsOf(deliveries), range(1, 200))
        })
      })

      describe('a reader', () => {
        it('returns null when nothing arrives within the timeout', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          assert.equal(await tm.reader('work').poll(1), null)
        })

        it('answers concurrent calls in turn, each with its own message', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.publishBatch('work', [1, 2, 3])
          const reader = tm.reader('work')
          const deliveries = await Promise.all([reader.receive(), reader.poll('20s'), reader.receive()])
          assert.deepEqual(
            deliveries.map(delivery => delivery?.payload),
            [1, 2, 3],
          )
        })

        it('can be iterated, until it is closed', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.publishBatch('work', range(1, 5))
          const reader = tm.reader('work')
          const payloads: unknown[] = []
          for await (const delivery of reader) {
            payloads.push(delivery.payload)
            await delivery.ack()
            if (payloads.length === 5) void reader.close()
          }
          assert.deepEqual(payloads, range(1, 5))
        })
      })
    })
  }

  for (const store of shared) {
    describe(store.name, () => {
      describe('three readers of one group', () => {
        it('share ten messages, each read exactly once', async () => {
          await using database = await store.fresh()
          const [here, there] = [await database.open(), await database.open()]
          await here.configureTopic('batches', { semantics: 'pub-sub' })
          const options = { group: 'indexers', from: 'beginning' as const }
          const readers = [
            here.reader('batches', options),
            here.reader('batches', options),
            there.reader('batches', options),
          ]
          await here.publishBatch('batches', range(1, 10))
          const read: unknown[] = []
          const take = async (reader: Reader): Promise<void> => {
            while (read.length < 10) {
              const delivery = await reader.poll('10ms')
              if (delivery === null) continue
              read.push(delivery.payload)
              await reader.ack(delivery)
            }
          }
          await soon(Promise.all(readers.map(take)), 'ten messages in all')
          assert.deepEqual(read.toSorted(byNumber), range(1, 10))
          for (const reader of readers) assert.equal(await reader.poll(0), null)
        })
      })

      describe('many writers', () => {
        it('write concurrently from several instances, and nothing is lost or duplicated', async () => {
          await using database = await store.fresh()
          const instances = await Promise.all([database.open(), database.open(), database.open(), database.open()])
          const published = await Promise.all(
            instances.flatMap((tm, index) => range(1, 50).map(number => tm.publish('work', index * 50 + number))),
          )
          assert.equal(new Set(published.map(({ id }) => id)).size, 200)
          const [tm] = instances
          const read = await consume(tm.reader('work', { batchSize: 50 }), 200)
          assert.deepEqual(read.toSorted(byNumber), range(1, 200))
        })

        it('keep each its own order', async () => {
          await using database = await store.fresh()
          const [here, there] = [await database.open(), await database.open()]
          await Promise.all([
            ...range(1, 50).map(number => here.publish('work', number)),
            ...range(101, 150).map(number => there.publish('work', number)),
          ])
          const read = (await consume(here.reader('work', { batchSize: 100 }), 100)) as number[]
          assert.deepEqual(
            read.filter(number => number <= 50),
            range(1, 50),
          )
          assert.deepEqual(
            read.filter(number => number > 50),
            range(101, 150),
          )
        })
      })

      describe('a database that is closed and opened again', () => {
        it('still has its messages', async () => {
          await using database = await store.fresh()
          const before = await database.open()
          await before.publish('work', 'kept')
          await before.close()
          const after = await database.open()
          assert.deepEqual(await consume(after.reader('work'), 1), ['kept'])
        })

        it('continues where each group was, with its settings', async () => {
          await using database = await store.fresh()
          const before = await database.open()
          const config = await before.configureTopic('batches', { semantics: 'pub-sub', maxAttempts: 9 })
          await before.publishBatch('batches', [1, 2, 3])
          assert.deepEqual(await consume(before.reader('batches', { group: 'a', from: 'beginning' }), 2), [1, 2])
          await before.close()
          const after = await database.open()
          assert.deepEqual(await after.configureTopic('batches'), config)
          const reader = after.reader('batches', { group: 'a', from: 'beginning' })
          assert.deepEqual(await consume(reader, 1), [3])
          assert.equal(await reader.poll(0), null)
        })

        it('stores what was published and not awaited before close()', async () => {
          await using database = await store.fresh()
          const before = await database.open()
          await before.configureTopic('work')
          const published = eventsOf(before, 'published')
          const unawaited = range(1, 20).map(number => before.publish('work', number))
          await before.close()
          await Promise.all(unawaited)
          assert.equal(
            published.reduce((sum, { count }) => sum + count, 0),
            20,
          )
          const after = await database.open()
          assert.deepEqual(await consume(after.reader('work'), 20), range(1, 20))
        })
      })
    })
  }
}

const byNumber = (a: unknown, b: unknown): number => Number(a) - Number(b)
