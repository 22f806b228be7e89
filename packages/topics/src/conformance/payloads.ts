import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { PayloadTooLargeError } from '../index.ts'
import type { ConformanceStores } from './conformance-store.ts'
import { range, receive } from './consuming.ts'
import { it } from './it.ts'

const MiB = 1024 * 1024

const values: Record<string, unknown> = {
  null: null,
  true: true,
  zero: 0,
  'a negative fraction': -1.5e-7,
  'a large number': Number.MAX_SAFE_INTEGER,
  'an empty text': '',
  'a text with quotes and backslashes': `'"\\ $1 {} E'x'`,
  'letters of all sorts': 'äß ключ ﷺ 漢字 🙂 👩‍👩‍👧 \u2028\u2029\ufeff',
  'control characters': range(0, 31)
    .map(code => String.fromCharCode(code))
    .join(''),
  'a NUL in a key': { 'a\0b': 'c\0' },
  'half of a surrogate pair': '\ud800 alone',
  'an empty array': [],
  'an empty object': {},
  nested: { list: [1, [2, [3, { deep: [null, false] }]]] },
  'a large text': 'x'.repeat(MiB - 2),
}

export function payloads({ stores }: ConformanceStores): void {
  for (const store of stores) {
    describe(store.name, () => {
      describe('a JSON payload', () => {
        for (const [name, value] of Object.entries(values)) {
          it(`may be ${name}`, async () => {
            await using database = await store.fresh()
            const tm = await database.open()
            await tm.publish('work', value)
            const delivery = await receive(tm.reader('work'))
            assert.equal(delivery.type, 'json')
            assert.deepEqual(delivery.payload, JSON.parse(JSON.stringify(value)))
          })
        }
      })

      describe('a payload of bytes', () => {
        it('comes back as the same bytes', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const every = Uint8Array.from(range(0, 255))
          const payloads = [every, new Uint8Array(0), Buffer.from('buffer'), new Uint8Array(MiB).fill(7)]
          for (const payload of payloads) await tm.publish('work', payload)
          await tm.publish('work', every.subarray(10, 20))
          const reader = tm.reader('work', { batchSize: 10 })
          for (const payload of [...payloads, every.subarray(10, 20)]) {
            const delivery = await receive(reader)
            assert.equal(delivery.type, 'bytes')
            assert.ok(delivery.payload instanceof Uint8Array)
            assert.deepEqual([...delivery.payload], [...payload])
          }
        })
      })

      describe('the size limit', () => {
        it('is 1 MiB by default', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.publish('work', new Uint8Array(MiB))
          await assert.rejects(tm.publish('work', new Uint8Array(MiB + 1)), (error: unknown) => {
            assert.ok(error instanceof PayloadTooLargeError)
            assert.deepEqual([error.topic, error.bytes, error.limit], ['work', MiB + 1, MiB])
            assert.match(error.message, /maxMessageBytes/)
            return true
          })
        })

        it('counts payload, key and headers, in bytes of UTF-8', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('small', { maxMessageBytes: 20 })
          await tm.publish('small', 'ä'.repeat(9))
          await assert.rejects(tm.publish('small', 'ä'.repeat(10)), PayloadTooLargeError)
          await assert.rejects(tm.publish('small', 'ä'.repeat(9), { key: 'k' }), PayloadTooLargeError)
          await assert.rejects(tm.publish('small', 1, { headers: { a: 'b'.repeat(20) } }), PayloadTooLargeError)
        })

        it('can be raised', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('large', { maxMessageBytes: 8 * MiB })
          await tm.publish('large', 'x'.repeat(6 * MiB))
          assert.equal(String((await receive(tm.reader('large'))).payload).length, 6 * MiB)
        })
      })
    })
  }
}
