import assert from 'node:assert/strict'
import { describe } from 'node:test'
import type { Tidemark } from '../index.ts'
import type { ConformanceStores } from './conformance-store.ts'
import { range, receive } from './consuming.ts'
import { it } from './it.ts'

class SmtpError extends Error {
  override readonly name = 'SmtpError'
}

/** Each message fails permanently, with the error of its turn. */
async function fail(tm: Tidemark, topic: string, errors: readonly Error[], key?: string): Promise<void> {
  await tm.configureTopic(topic, { maxAttempts: 1 })
  await tm.publishMessages(
    topic,
    errors.map((_, payload) => ({ payload, ...(key !== undefined && { key }) })),
  )
  const reader = tm.reader(topic, { batchSize: 1 })
  for (const error of errors) await (await receive(reader)).nack(error)
  await reader.close()
}

const full = (n: number): Error => new SmtpError(`mailbox 'customer-${n}' full`)

export function deadLetterErrors({ stores }: ConformanceStores): void {
  for (const store of stores) {
    describe(store.name, () => {
      describe('dead letters by kind of error', () => {
        it('are one line for errors that differ in numbers, ids and quoted text', async () => {
          await using database = await store.fresh()
          const tm = await database.open({ maintenance: false })
          await fail(tm, 'orders', [full(1), full(22), new TypeError('x is undefined'), full(3)])
          await fail(tm, 'other', [full(4)])
          const { errors, examined, complete } = await tm.admin.deadLetterErrors()
          assert.deepEqual([examined, complete], [5, true])
          const told = errors.map(({ topic, error, count }) => [topic, error, count]).sort()
          assert.deepEqual(told, [
            ['orders', 'SmtpError: mailbox <…> full', 3],
            ['orders', 'TypeError: x is undefined', 1],
            ['other', 'SmtpError: mailbox <…> full', 1],
          ])
          const orders = await tm.admin.deadLetterErrors({ topic: 'orders' })
          const smtp = orders.errors.find(({ error }) => error.startsWith('SmtpError'))
          assert.equal(orders.errors.length, 2)
          assert.equal(smtp?.sample.message, "mailbox 'customer-3' full")
          assert.equal(
            smtp?.perMinute.reduce((sum, count) => sum + count, 0),
            3,
          )
          assert.ok(smtp && smtp.firstAt <= smtp.lastAt)
          assert.deepEqual((await tm.admin.deadLetterErrors({ topic: 'orders', group: 'any' })).errors.length, 2)
          await assert.rejects(tm.admin.deadLetterErrors({ topic: 'nowhere' }), { code: 'TIDEMARK_TOPIC_NOT_FOUND' })
        })

        it('can be listed, counted, redriven and discarded by kind', async () => {
          await using database = await store.fresh()
          const tm = await database.open({ maintenance: false })
          await fail(tm, 'orders', [full(1), new TypeError('no'), ...range(2, 9).map(full)], 'k')
          const { errors } = await tm.admin.deadLetterErrors({ topic: 'orders' })
          const fingerprint = errors.find(({ error }) => error.startsWith('Smtp'))?.fingerprint ?? ''
          const first = await tm.admin.deadLetterPage('orders', { fingerprint, limit: 4 })
          assert.equal(first.deadLetters.length, 4)
          const rest = await tm.admin.deadLetterPage('orders', { fingerprint, limit: 100, after: first.next ?? 0 })
          assert.deepEqual([rest.deadLetters.length, rest.next], [5, null])
          assert.ok([...first.deadLetters, ...rest.deadLetters].every(({ error }) => error.name === 'SmtpError'))

          const filter = { fingerprint, key: 'k' }
          assert.deepEqual(await tm.admin.previewDeadLetters('orders', filter), { matching: 9, gone: 0, orphaned: 0 })
          assert.deepEqual(await tm.admin.previewDeadLetters('orders', { fingerprint, key: 'other' }), {
            ...{ matching: 0, gone: 0, orphaned: 0 },
          })
          assert.deepEqual(await tm.admin.redrive('orders', { ...filter, limit: 2 }), {
            ...{ redriven: 2, gone: 0, orphaned: 0 },
          })
          assert.equal(await tm.admin.discard('orders', { ...filter, limit: 3 }), 3)
          assert.equal((await tm.admin.redrive('orders', filter)).redriven, 4)
          assert.deepEqual(
            (await tm.admin.deadLetters('orders')).map(({ error }) => error.name),
            ['TypeError'],
          )
          for (const wrong of ['', 'x', fingerprint.toUpperCase().replace(/\d/g, 'A')]) {
            await assert.rejects(tm.admin.redrive('orders', { fingerprint: wrong }), { code: 'TIDEMARK_CONFIG' })
          }
        })

        it('can be redriven up to a limit, however many pages there are', async () => {
          await using database = await store.fresh()
          const tm = await database.open({ maintenance: false })
          await tm.configureTopic('orders', { maxAttempts: 1 })
          await tm.publishBatch('orders', range(1, 1_200))
          const reader = tm.reader('orders', { batchSize: 1_200 })
          await Promise.all(range(1, 1_200).map(async n => (await receive(reader)).nack(full(n))))
          const [kind] = (await tm.admin.deadLetterErrors({ topic: 'orders' })).errors
          assert.equal(kind?.count, 1_200)
          const filter = { fingerprint: kind.fingerprint, limit: 1_100 }
          assert.equal((await tm.admin.redrive('orders', filter)).redriven, 1_100)
          assert.equal(await tm.admin.discard('orders', filter), 100)
        })

        it('can be listed by key and time', async () => {
          await using database = await store.fresh()
          const tm = await database.open({ maintenance: false })
          await fail(tm, 'orders', [full(1)], '<script>alert(1)</script>')
          await fail(tm, 'orders', [full(2), full(3)], 'b')
          const count = async (options: object): Promise<number> =>
            (await tm.admin.deadLetters('orders', options)).length
          assert.equal(await count({ key: 'b' }), 2)
          assert.equal(await count({ key: '<script>alert(1)</script>' }), 1)
          assert.equal(await count({ since: new Date(0), errorName: 'SmtpError' }), 3)
          assert.equal(await count({ until: new Date(1) }), 0)
          assert.equal(await count({ since: Date.now() + 3_600_000 }), 0)
        })
      })
    })
  }
}
