/** Individually large messages: a page has a limit in bytes too, or a group would never get past them. */
import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { ConfigError } from '../index.ts'
import type { ConformanceStores } from './conformance-store.ts'
import { range } from './consuming.ts'
import { it } from './it.ts'
import { isLong } from './long.ts'
import { until } from './until.ts'

/**
 * In long runs more than fits into one answer of a PostgreSQL server (1 GB), or into one string of Node (half of that).
 */
const COUNT = isLong ? 40 : 3
/** On PostgreSQL a byte is read as two hexadecimal digits, all in one string. */
const LARGEST = 255 * 1024 ** 2
const BYTES = (isLong ? 50 : 24) * 1024 ** 2

export function largePages({ shared }: ConformanceStores): void {
  for (const store of shared) {
    describe(`${store.name}: messages of many megabytes`, () => {
      it('reach a group that claims a thousand at a time, and small ones behind them too', async () => {
        await using database = await store.fresh()
        const tm = await database.open()
        await tm.configureTopic('work', { maxMessageBytes: BYTES * 2 })
        const sizes: unknown[] = []
        const group = tm.consumerGroup<Uint8Array | number>('work', undefined, { batchSize: 1_000 })
        group.addConsumer('c', ({ payload, attempt }) => {
          assert.equal(attempt, 1)
          sizes.push(typeof payload === 'number' ? payload : payload.length)
        })
        await group.start()
        // Quick ones first, so that the group continues with pages of a thousand.
        await tm.publishBatch('work', range(1, 1_500))
        await until(() => sizes.length === 1_500, { what: 'small ones' })
        await group.pause()
        const payload = new Uint8Array(BYTES).fill(65)
        for (let number = 0; number < COUNT; number++) await tm.publish('work', payload)
        await tm.publishBatch('work', range(1_501, 3_000))
        await group.resume()
        await until(() => sizes.length === 3_000 + COUNT, { what: 'all of them', timeout: 120_000 })
        assert.deepEqual(sizes.slice(1_500, 1_500 + COUNT), Array(COUNT).fill(BYTES))
        assert.deepEqual(sizes.slice(-1_500), range(1_501, 3_000))
      })

      it('come back as retries, a few at a time', async () => {
        await using database = await store.fresh()
        const tm = await database.open()
        await tm.configureTopic('work', { maxMessageBytes: BYTES * 2, backoff: { initial: 0, max: 0, factor: 1 } })
        const payload = new Uint8Array(BYTES).fill(65)
        for (let number = 0; number < 3; number++) await tm.publish('work', payload)
        const pulled = []
        for (let got = 0; got < 3; got += pulled.at(-1)?.messages.length ?? 0)
          pulled.push(await tm.pull('work', undefined, { max: 1_000, maxBytes: 1024 ** 3 }))
        for (const { receipt, messages } of pulled) {
          assert.ok(receipt && messages.length <= 2, `${messages.length} in one page`)
          await tm.settle(receipt, { nacks: messages.map(({ id }) => ({ id })) })
        }
        const again: number[] = []
        for (let got = 0; got < 3; ) {
          const { receipt, messages } = await tm.pull('work', undefined, {
            max: 1_000,
            maxBytes: 1024 ** 3,
            wait: '5s',
          })
          assert.ok(receipt)
          assert.ok(messages.every(({ attempt }) => attempt === 2))
          await tm.settle(receipt, { acks: 'all' })
          again.push(messages.length)
          got += messages.length
        }
        assert.ok(Math.max(...again) <= 2, String(again))
      })

      it('may not be larger than can be read', async () => {
        await using database = await store.fresh()
        const tm = await database.open()
        await assert.rejects(tm.configureTopic('work', { maxMessageBytes: LARGEST + 1 }), (error: Error) => {
          assert.ok(error instanceof ConfigError)
          assert.match(error.message, /maxMessageBytes.*267386881.*from 1 to 267386880/)
          return true
        })
      })

      it('are read at the largest size, as messages, as retries and as dead letters', { skip: !isLong }, async () => {
        await using database = await store.fresh()
        const tm = await database.open()
        const backoff = { initial: 0, max: 0, factor: 1 }
        await tm.configureTopic('work', { maxMessageBytes: LARGEST, maxAttempts: 2, backoff })
        await tm.publish('work', new Uint8Array(LARGEST).fill(200))
        for (const attempt of [1, 2]) {
          const pulled = await tm.pull('work', undefined, { maxBytes: 1024 ** 3, wait: '30s', raw: true })
          const [message] = pulled.messages
          assert.deepEqual([message?.payload.length, message?.attempt], [LARGEST, attempt])
          await tm.settle(pulled.receipt ?? '', { nacks: [{ id: message?.id ?? 0 }] })
        }
        const [letter] = await tm.admin.deadLetters('work')
        const { messages } = await tm.admin.browse('work')
        for (const payload of [letter?.payload, messages[0]?.payload])
          assert.equal(payload instanceof Uint8Array && payload.length, LARGEST)
      })
    })
  }
}
