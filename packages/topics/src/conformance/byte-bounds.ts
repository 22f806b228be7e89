import assert from 'node:assert/strict'
import { describe } from 'node:test'
import type { StoredMessage, Tidemark } from '../index.ts'
import type { ConformanceStores } from './conformance-store.ts'
import { receive } from './consuming.ts'
import { it } from './it.ts'
import { until } from './until.ts'

const KIB = 1024
const text = (length: number): string => 'x'.repeat(length)
const bytesOf = ({ payload, headers, key }: StoredMessage): number =>
  Buffer.byteLength(payload) + Buffer.byteLength(JSON.stringify(headers)) + (key?.length ?? 0)

/** Small, large, in headers and keys, as JSON and as bytes; and one that is larger than any page. */
async function fill(tm: Tidemark): Promise<number> {
  for (let round = 0; round < 6; round++) {
    await tm.publish('events', { text: text(10 * KIB) })
    await tm.publish('events', new Uint8Array(12 * KIB), { key: text(300) })
    await tm.publish('events', 1, { headers: { h: text(9 * KIB) } })
    await tm.publish('events', new Uint8Array(0))
    await tm.publish('events', round % 2 === 0 ? text(50 * KIB) : new Uint8Array(50 * KIB))
  }
  return 30
}

export function byteBounds({ stores }: ConformanceStores): void {
  for (const store of stores) {
    describe(store.name, () => {
      describe('a page that is bounded in bytes', () => {
        for (const order of ['oldest-first', 'newest-first'] as const) {
          it(`browsing ${order}: stays within its limit, misses nothing, and reports what it omits`, async () => {
            await using database = await store.fresh()
            const tm = await database.open()
            const count = await fill(tm)
            const all = (await tm.admin.browse('events', { order })).messages
            const bounds = { maxBytes: 25 * KIB, maxPayloadBytes: 20 * KIB, order }
            const seen: StoredMessage[] = []
            let pages = 0
            for (let next: number | null | undefined; next !== null; pages++) {
              const place = next === undefined ? {} : { [order === 'oldest-first' ? 'after' : 'before']: next }
              const page = await tm.admin.browse('events', { ...bounds, ...place })
              const whole = page.messages.filter(({ omittedBytes }) => omittedBytes === undefined)
              assert.ok(whole.reduce((sum, message) => sum + bytesOf(message), 0) <= 25 * KIB + 100)
              seen.push(...page.messages)
              next = page.next
            }
            assert.ok(pages > 5)
            assert.deepEqual(
              seen.map(({ id }) => id),
              all.map(({ id }) => id),
            )
            assert.equal(seen.length, count)
            for (const [index, message] of seen.entries()) {
              const { payload, omittedBytes } = message
              const stored = all[index] as StoredMessage
              if (stored.payload.length < 20 * KIB) assert.deepEqual(message, stored)
              else assert.deepEqual([payload.length, omittedBytes], [0, bytesOf(stored) - 2])
            }
          })
        }

        it('has at least one message, however small the bound', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.publishBatch('events', [text(5_000), text(5_000), text(5_000)])
          const first = await tm.admin.browse('events', { maxBytes: 1 })
          assert.deepEqual([first.messages.length, first.next], [1, first.messages[0]?.id])
          const second = await tm.admin.browse('events', { maxBytes: 5_100, order: 'newest-first' })
          assert.deepEqual([second.messages.length, second.next], [1, second.messages[0]?.id])
        })

        it('of a filter that matches here and there continues where it was cut', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          for (let n = 0; n < 12; n++) await tm.publish('events', text(4 * KIB), { key: n % 3 === 0 ? 'a' : 'b' })
          const seen: (string | null)[] = []
          for (let next: number | null | undefined; next !== null; ) {
            const place = next === undefined ? {} : { after: next }
            const page = await tm.admin.browse('events', { key: 'a', maxBytes: 9 * KIB, ...place })
            assert.ok(page.messages.length <= 2)
            seen.push(...page.messages.map(({ key }) => key))
            next = page.next
          }
          assert.deepEqual(seen, ['a', 'a', 'a', 'a'])
        })

        it('of a tail delivers every message once', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('events')
          const ended = new AbortController()
          const bounds = { maxBytes: 25 * KIB, maxPayloadBytes: 20 * KIB }
          const tail = await tm.admin.tail('events', { ...bounds, signal: ended.signal })
          const count = await fill(tm)
          const ids: number[] = []
          const omitted: number[] = []
          for await (const { id, omittedBytes } of tail) {
            ids.push(id)
            if (omittedBytes !== undefined) omitted.push(omittedBytes)
            if (ids.length === count) ended.abort()
          }
          assert.equal(new Set(ids).size, count)
          assert.equal(omitted.length, 6)
          assert.ok(omitted.every(bytes => bytes >= 50 * KIB))
        })

        it('of dead letters and of retries continues where it was cut', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('work', { maxAttempts: 1 })
          await tm.configureTopic('again', { maxAttempts: 9, backoff: { initial: '1h', max: '1h', factor: 1 } })
          const reader = tm.reader('work', { batchSize: 8 })
          const again = tm.reader('again', { batchSize: 8 })
          await tm.publishBatch(
            'work',
            [1, 2, 3, 4, 5, 6, 7].map(n => text(n === 3 ? 50 * KIB : 8 * KIB)),
          )
          await tm.publishBatch('again', [1, 2, 3, 4, 5, 6, 7])
          for (let n = 0; n < 7; n++) await (await receive(reader)).nack(new Error(text(500)))
          for (let n = 0; n < 7; n++) await (await receive(again)).nack(new Error(text(2_000)))
          await until(async () => (await tm.admin.deadLetters('work')).length === 7, { what: 'the dead letters' })
          await until(async () => (await tm.admin.retries('again')).length === 7, { what: 'the retries' })

          const letters: { id: number; omittedBytes?: number }[] = []
          let pages = 0
          for (let next: number | null = 0; next !== null; pages++) {
            const options: { after: number } = { after: next }
            const page = await tm.admin.deadLetterPage('work', {
              ...options,
              maxBytes: 24 * KIB,
              maxPayloadBytes: 20 * KIB,
            })
            letters.push(...page.deadLetters)
            next = page.next
          }
          assert.ok(pages >= 3)
          assert.deepEqual(
            letters.map(({ omittedBytes = 0 }) => omittedBytes > 50 * KIB),
            [false, false, true, false, false, false, false],
          )
          const [third] = letters.filter(({ omittedBytes }) => omittedBytes !== undefined)
          const one = await tm.admin.deadLetter('work', third?.id ?? 0, { maxPayloadBytes: 20 * KIB })
          assert.deepEqual([one?.payload, one?.omittedBytes], ['', third?.omittedBytes])
          assert.equal((await tm.admin.deadLetter('work', third?.id ?? 0))?.payload.length, 50 * KIB + 2)

          const retried: number[] = []
          for (let next: number | null = 0; next !== null; ) {
            const options: { after: number } = { after: next }
            const page = await tm.admin.retryPage('again', { ...options, maxBytes: 5_000 })
            assert.ok(page.retries.length <= 2)
            retried.push(...page.retries.map(({ id }) => id))
            next = page.next
          }
          assert.equal(new Set(retried).size, 7)
        })
      })
    })
  }
}
