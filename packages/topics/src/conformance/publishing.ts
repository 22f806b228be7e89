import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { BatchTooLargeError, PayloadError, PayloadTooLargeError } from '../index.ts'
import type { ConformanceStores } from './conformance-store.ts'
import { consume, payloadsOf, range, receive } from './consuming.ts'
import { it } from './it.ts'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

export function publishing({ stores, shared }: ConformanceStores): void {
  for (const store of stores) {
    describe(store.name, () => {
      describe('publishes made at the same time', () => {
        it('share few transactions, and each has its own result', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const refs = await Promise.all(range(1, 200).map(number => tm.publish('work', number)))
          const transactions = tm.metrics().latency.publish.count
          assert.ok(transactions >= 1 && transactions <= 5, `${transactions} transactions`)
          const byId = new Map(refs.map(({ id }, index) => [id, index + 1]))
          assert.equal(byId.size, 200)
          const reader = tm.reader('work', { batchSize: 200 })
          for (const _ of range(1, 200)) {
            const { id, payload } = await receive(reader)
            assert.equal(byId.get(id), payload)
          }
        })

        it('are stored in the order of the calls, batches among them', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const calls = range(0, 19).flatMap(round => [
            tm.publish('work', round * 5),
            tm.publishBatch('work', [round * 5 + 1, round * 5 + 2]),
            tm.publish('work', round * 5 + 3, { messageId: `m${round}` }),
            tm.publish('work', round * 5 + 4, { key: 'k' }),
          ])
          await Promise.all(calls)
          assert.deepEqual(await consume(tm.reader('work', { batchSize: 100 }), 100), range(0, 99))
        })

        it('are stored in the order of the calls, if they are large too, and have to look up messageIds', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const batches = range(0, 3).map(batch => range(batch * 510, batch * 510 + 509))
          const calls = batches.map((payloads, batch) =>
            batch === 0
              ? Promise.all(payloads.map(n => tm.publish('work', n, { messageId: `m${n}` })))
              : tm.publishBatch('work', payloads),
          )
          await Promise.all(calls)
          const stored: unknown[] = []
          for (let after: number | null = 0; after !== null; ) {
            const page = await tm.admin.browse('work', { after, limit: 1_000 })
            stored.push(...page.messages.map(({ payload }) => JSON.parse(String(payload))))
            after = page.next
          }
          assert.deepEqual(stored, range(0, 4 * 510 - 1))
        })

        it('fail independently', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('work', { maxMessageBytes: 100 })
          const results = await Promise.allSettled([
            tm.publish('work', 1),
            tm.publish('work', 'x'.repeat(200)),
            tm.publish('work', undefined),
            tm.publish('work', 2),
          ])
          assert.deepEqual(
            results.map(({ status }) => status),
            ['fulfilled', 'rejected', 'rejected', 'fulfilled'],
          )
          assert.deepEqual(await consume(tm.reader('work'), 2), [1, 2])
        })
      })

      describe('publishMessages', () => {
        it('stores messages with keys, headers and ids of their own in one transaction', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.publish('work', 'first', { messageId: 'known' })
          const refs = await tm.publishMessages('work', [
            { payload: 'a', key: 'k', headers: { h: '1' }, messageId: 'mine' },
            { payload: 'again', messageId: 'known' },
            { payload: 'b' },
          ])
          assert.deepEqual(
            refs.map(({ duplicate }) => duplicate),
            [false, true, false],
          )
          assert.equal(refs[0]?.messageId, 'mine')
          const { messages } = await tm.admin.browse('work')
          assert.deepEqual(
            messages.map(({ payload, key, headers }) => [payload, key, headers]),
            [
              ['"first"', null, {}],
              ['"a"', 'k', { h: '1' }],
              ['"b"', null, {}],
            ],
          )
        })

        it('stores nothing if one of them is invalid', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          for (const wrong of [
            { payload: () => 1 },
            { payload: 1, key: '' },
            { payload: 1, tx: {} },
            { payload: 1, x: 1 },
          ]) {
            await assert.rejects(tm.publishMessages('work', [{ payload: 'good' }, wrong as never]))
          }
          await assert.rejects(tm.publishMessages('work', 'x' as never), PayloadError)
          assert.deepEqual(await tm.publishMessages('work', []), [])
          assert.deepEqual((await tm.admin.browse('work')).messages, [])
        })
      })

      describe('publishBatch', () => {
        it('stores all, in one transaction, and refers to each', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const refs = await tm.publishBatch('work', range(1, 2_500))
          assert.equal(refs.length, 2_500)
          assert.equal(tm.metrics().latency.publish.count, 1)
          assert.equal(new Set(refs.map(({ messageId }) => messageId)).size, 2_500)
          const reader = tm.reader('work', { batchSize: 1_000 })
          for (const ref of refs) {
            const { id, messageId } = await receive(reader)
            assert.deepEqual({ id, messageId }, { id: ref.id, messageId: ref.messageId })
          }
        })

        it('stores nothing if one of them cannot be stored', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('work', { maxMessageBytes: 100 })
          await assert.rejects(tm.publishBatch('work', [1, 'x'.repeat(200), 3]), PayloadTooLargeError)
          assert.equal(await tm.reader('work').poll(0), null)
          assert.equal((await tm.admin.describeTopic('work')).messagesPublished, 0)
        })

        it('of more than 256 MiB is refused before anything is sent', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('work', { maxMessageBytes: 100 * 1024 ** 2 })
          const payload = new Uint8Array(90 * 1024 ** 2)
          await assert.rejects(tm.publishBatch('work', [payload, payload, payload]), (error: Error) => {
            assert.ok(error instanceof BatchTooLargeError)
            assert.deepEqual([error.topic, error.messages, error.limit], ['work', 3, 256 * 1024 ** 2])
            assert.match(error.message, /batch .*'work'.* 268435456 bytes.*several/)
            return true
          })
          assert.equal((await tm.admin.describeTopic('work')).messagesPublished, 0)
          await tm.publish('work', 'next')
          assert.equal((await receive(tm.reader('work'))).payload, 'next')
        })

        it('of nothing stores nothing', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          assert.deepEqual(await tm.publishBatch('work', []), [])
          assert.equal(await tm.reader('work').poll(0), null)
        })
      })

      describe('a message', () => {
        it('keeps its key and its headers, whatever letters they have', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const headers = { 'trace-id': '42', 'größe 🙂': 'ﷺ', nul: 'a\0b', half: '\ud800', empty: '', quote: `"'\\\n` }
          await tm.publish('work', 1, { key: `ключ-'"\\-🙂`, headers })
          const delivery = await receive(tm.reader('work'))
          assert.equal(delivery.key, `ключ-'"\\-🙂`)
          assert.deepEqual(delivery.headers, headers)
        })

        it('keeps a field that no other message of its transaction and page has', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const bytes = Uint8Array.of(1, 2, 3)
          const reader = tm.reader('work', { batchSize: 10 })
          const fields = async () => {
            const { key, headers, type, messageId, payload } = await receive(reader)
            return { key, headers, type, isTheirs: messageId === 'order-1', payload }
          }
          const plain = { key: null, headers: {}, type: 'json', isTheirs: false, payload: 1 }
          await tm.publish('work', 1)
          assert.deepEqual(await fields(), plain)
          await tm.publish('work', 1, { key: 'k' })
          assert.deepEqual(await fields(), { ...plain, key: 'k' })
          await tm.publish('work', 1, { headers: { h: '1' } })
          assert.deepEqual(await fields(), { ...plain, headers: { h: '1' } })
          await tm.publish('work', 1, { messageId: 'order-1' })
          assert.deepEqual(await fields(), { ...plain, isTheirs: true })
          await tm.publish('work', bytes)
          assert.deepEqual(await fields(), { ...plain, type: 'bytes', payload: bytes })
        })

        it('has a generated UUID if the caller gave none', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const refs = [...(await tm.publishBatch('a', range(1, 50))), ...(await tm.publishBatch('b', range(1, 50)))]
          for (const { messageId } of refs) assert.match(messageId, UUID)
          assert.equal(new Set(refs.map(({ messageId }) => messageId)).size, 100)
          assert.deepEqual((await receive(tm.reader('a'))).messageId, refs[0]?.messageId)
        })

        it('is stored as it was when publish was called', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          for (const _ of ['a new topic', 'a known one']) {
            const [object, bytes] = [{ n: 1 }, Uint8Array.of(1)]
            const published = [tm.publish('work', object), tm.publish('work', bytes)]
            object.n = 2
            bytes[0] = 2
            await Promise.all(published)
          }
          const payloads = await consume(tm.reader('work'), 4)
          assert.deepEqual(payloads, [{ n: 1 }, Uint8Array.of(1), { n: 1 }, Uint8Array.of(1)])
        })
      })

      describe('a messageId of the caller', () => {
        it('is stored once, and the second publish reports a duplicate', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const first = await tm.publish('work', 'first', { messageId: 'order-7' })
          const second = await tm.publish('work', 'second', { messageId: 'order-7' })
          assert.deepEqual([first.duplicate, second.duplicate], [false, true])
          assert.deepEqual([second.id, second.messageId], [first.id, 'order-7'])
          const reader = tm.reader('work')
          const delivery = await receive(reader)
          assert.deepEqual([delivery.payload, delivery.messageId], ['first', 'order-7'])
          assert.equal(await reader.poll(0), null)
        })

        it('is stored once even if it is published twice in one burst', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const ids = [...range(1, 30), ...range(1, 30)].map(number => `m${number}`)
          const refs = await Promise.all(ids.map(messageId => tm.publish('work', messageId, { messageId })))
          assert.equal(refs.filter(({ duplicate }) => duplicate).length, 30)
          for (const index of range(0, 29)) assert.equal(refs[index]?.id, refs[index + 30]?.id)
          const reader = tm.reader('work', { batchSize: 100 })
          assert.deepEqual(
            await consume(reader, 30),
            range(1, 30).map(number => `m${number}`),
          )
          assert.equal(await reader.poll(0), null)
        })

        it('belongs to its topic alone', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.publish('a', 1, { messageId: 'same' })
          assert.equal((await tm.publish('b', 2, { messageId: 'same' })).duplicate, false)
        })

        it('may be one that Tidemark generated before', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const { id, messageId } = await tm.publish('work', 1)
          const again = await tm.publish('work', 1, { messageId })
          assert.deepEqual([again.id, again.messageId, again.duplicate], [id, messageId, true])
        })
      })
    })
  }

  for (const store of shared) {
    describe(store.name, () => {
      describe('a messageId of the caller', () => {
        it('is stored once even if two instances publish it at the same time', async () => {
          await using database = await store.fresh()
          const instances = [await database.open(), await database.open()]
          await instances[0]?.configureTopic('work')
          const ids = range(1, 50).map(number => `m${number}`)
          const refs = await Promise.all(
            instances.map(tm => Promise.all(ids.map(messageId => tm.publish('work', messageId, { messageId })))),
          )
          assert.equal(refs.flat().filter(({ duplicate }) => duplicate).length, 50)
          assert.deepEqual(
            refs[0]?.map(({ id }) => id),
            refs[1]?.map(({ id }) => id),
          )
          const reader = instances[0]?.reader('work', { batchSize: 100 })
          assert.ok(reader)
          assert.deepEqual((await consume(reader, 50)).toSorted(), ids.toSorted())
          assert.equal(await reader.poll(0), null)
        })

        it('is stored again after the dedupeWindow', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const first = await tm.publish('work', 'first', { messageId: 'm' })
          await database.ageMessageIds(8 * 24 * 3_600_000)
          const second = await tm.publish('work', 'second', { messageId: 'm' })
          assert.equal(second.duplicate, false)
          assert.notEqual(second.id, first.id)
          assert.equal((await tm.publish('work', 'third', { messageId: 'm' })).id, second.id)
          const reader = tm.reader('work')
          const deliveries = [await receive(reader), await receive(reader)]
          assert.deepEqual(payloadsOf(deliveries), ['first', 'second'])
          assert.equal(await reader.poll(0), null)
        })

        it('is remembered longer if the topic says so, or for ever', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('long', { dedupeWindow: '30d' })
          await tm.configureTopic('always', { dedupeWindow: 'forever' })
          for (const topic of ['long', 'always']) {
            await tm.publish(topic, 1, { messageId: 'm' })
            await database.ageMessageIds(8 * 24 * 3_600_000)
            assert.equal((await tm.publish(topic, 2, { messageId: 'm' })).duplicate, true, topic)
          }
        })
      })
    })
  }
}
