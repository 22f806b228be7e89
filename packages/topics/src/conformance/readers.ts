import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { ClosedError, type Delivery, type Schema, StaleDeliveryError } from '../index.ts'
import type { ConformanceStores } from './conformance-store.ts'
import { consume, groupOf, receive, slowValidator, soon } from './consuming.ts'
import { it } from './it.ts'
import { until } from './until.ts'

export function readers({ stores, shared }: ConformanceStores): void {
  for (const store of stores) {
    describe(store.name, () => {
      describe('receive() and poll() with a signal', () => {
        for (const wait of ['receive', 'poll'] as const) {
          it(`${wait}() rejects with the reason when it aborts, and the next call gets the message`, async () => {
            await using database = await store.fresh()
            const tm = await database.open()
            const reader = await tm.reader('work').ready()
            const abort = new AbortController()
            const reason = new Error('the caller has gone')
            const waiting =
              wait === 'receive'
                ? reader.receive({ signal: abort.signal })
                : reader.poll('1h', { signal: abort.signal }).then(delivery => delivery as Delivery)
            const refused = assert.rejects(soon(waiting, 'the rejection'), error => error === reason)
            await until(() => tm.metrics().totals.claims > 0, { what: 'the reader to wait' })
            abort.abort(reason)
            await refused
            await tm.publish('work', 1)
            assert.deepEqual(await consume(reader, 1), [1])
          })
        }

        it('claims nothing for a signal that was aborted before', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const reader = await tm.reader('work').ready()
          await tm.publish('work', 1)
          const claims = () => tm.metrics().totals.claims
          const before = claims()
          await assert.rejects(reader.receive({ signal: AbortSignal.abort() }), { name: 'AbortError' })
          await assert.rejects(reader.poll(0, { signal: AbortSignal.abort() }), { name: 'AbortError' })
          assert.equal(claims(), before)
          assert.equal((await groupOf(tm, 'work')).inFlight, 0)
          assert.deepEqual(await consume(reader, 1), [1])
        })

        it('ends the call that waits for its turn, without affecting the others', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const reader = await tm.reader('work').ready()
          const abort = new AbortController()
          const first = reader.receive()
          const second = reader.receive({ signal: abort.signal })
          const third = reader.receive()
          const refused = assert.rejects(soon(second, 'the rejection'), { name: 'AbortError' })
          abort.abort()
          await refused
          await tm.publishBatch('work', [1, 2])
          assert.deepEqual([(await first).payload, (await third).payload], [1, 2])
        })

        it('loses no message that arrives at the moment of the abort', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const reader = await tm.reader('work', { batchSize: 3 }).ready()
          const taken: unknown[] = []
          for (let round = 0; round < 40; round++) {
            const abort = new AbortController()
            const receiving = reader.receive({ signal: abort.signal })
            const published = tm.publish('work', round)
            for (let turn = 0; turn < round % 10; turn++) await new Promise(resolve => setImmediate(resolve))
            abort.abort()
            const delivery = await receiving.catch(() => undefined)
            taken.push(delivery?.payload)
            await delivery?.ack()
            await published
          }
          const missing = taken.filter(payload => payload === undefined).length
          const rest = await consume(reader, missing)
          assert.deepEqual(
            [...taken.filter(payload => payload !== undefined), ...rest].toSorted((a, b) => Number(a) - Number(b)),
            Array.from({ length: 40 }, (_, round) => round),
          )
        })

        it('gives back a message whose payload was still being validated when it aborted', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.publish('work', 1)
          const validator = slowValidator()
          const reader = tm.reader('work', { schema: validator.schema })
          const abort = new AbortController()
          const receiving = reader.receive({ signal: abort.signal })
          await validator.asked
          abort.abort()
          await assert.rejects(receiving, { name: 'AbortError' })
          validator.answer()
          const [other] = [await receive(tm.reader('work'))]
          assert.deepEqual([other.payload, other.attempt], [1, 1])
          await other.ack()
        })

        it('gives back a message whose payload was still being validated when it was closed', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.publish('work', 1)
          const validator = slowValidator()
          const reader = tm.reader('work', { schema: validator.schema })
          const receiving = reader.receive()
          receiving.catch(() => undefined) // Expected below, after the close.
          await validator.asked
          const closing = reader.close()
          const other = await receive(tm.reader('work'))
          assert.deepEqual([other.payload, other.attempt], [1, 1])
          validator.answer()
          await assert.rejects(receiving, ClosedError)
          await closing
          await other.ack()
        })

        it('gives back the rest of its page when it aborted between two messages', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.publishBatch('work', [1, 2, 3])
          const abort = new AbortController()
          // The first message is refused, and the call is aborted before the second is looked at.
          const validate = (): { issues: [{ message: string }] } => {
            abort.abort()
            return { issues: [{ message: 'refused' }] }
          }
          const schema: Schema = { '~standard': { version: 1, vendor: 'conformance', validate } }
          const reader = tm.reader('work', { batchSize: 3, schema })
          await assert.rejects(reader.receive({ signal: abort.signal }), { name: 'AbortError' })
          const rest = await consume(tm.reader('work'), 2)
          assert.deepEqual(rest, [2, 3])
        })

        it('takes a signal, and no other option', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const reader = tm.reader('work')
          // @ts-expect-error what is no signal
          await assert.rejects(reader.receive({ signal: 1 }), { code: 'TIDEMARK_CONFIG' })
          // @ts-expect-error an option that does not exist
          await assert.rejects(reader.poll(0, { signl: AbortSignal.abort() }), { code: 'TIDEMARK_CONFIG' })
        })
      })

      describe('a message that waits in the page of a reader', () => {
        it('is not delivered under a lease that has expired', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('work', { lease: '1s' })
          await tm.publishBatch('work', [1, 2])
          const reader = tm.reader('work', { batchSize: 2 })
          const first = (await receive(reader)) as Delivery & { signal: AbortSignal }
          await until(() => first.signal.aborted, { what: 'the lease to end' })
          const next = await receive(reader)
          await reader.ack(next)
          assert.equal(next.attempt, 2)
        })
      })

      describe("another reader's delivery", () => {
        for (const verb of ['ack', 'nack', 'extend'] as const) {
          it(`is refused by ${verb}(), and nothing changes`, async () => {
            await using database = await store.fresh()
            const tm = await database.open()
            await tm.configureTopic('events', { semantics: 'pub-sub' })
            const [a, b] = [tm.reader('events', { group: 'a' }), tm.reader('events', { group: 'b' })]
            const sibling = await tm.reader('events', { group: 'a' }).ready()
            await Promise.all([a.ready(), b.ready()])
            await tm.publish('events', 1)
            const delivery = await receive(a)
            for (const other of [b, sibling]) {
              await assert.rejects(async () => await other[verb](delivery), {
                code: 'TIDEMARK_CONFIG',
                message: /a delivery that poll\(\) or receive\(\) of this reader gave/,
              })
            }
            const { inFlight, retries } = await groupOf(tm, 'events', 'a')
            assert.deepEqual({ inFlight, retries }, { inFlight: 1, retries: 0 })
            await a.ack(delivery)
            assert.equal((await groupOf(tm, 'events', 'a')).inFlight, 0)
          })
        }

        it('anything that is not a delivery is refused too', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await assert.rejects(async () => await tm.reader('work').ack({} as Delivery), { code: 'TIDEMARK_CONFIG' })
        })
      })

      describe('a delivery of a closed reader', () => {
        it('was released: its settlement is stale', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.publishBatch('work', [1, 2])
          const reader = tm.reader('work')
          const done = await receive(reader)
          await reader.ack(done)
          const open = await receive(reader)
          await reader.close()
          await assert.rejects(reader.ack(open), StaleDeliveryError)
          await assert.rejects(reader.nack(open), StaleDeliveryError)
          await assert.rejects(reader.extend(open), StaleDeliveryError)
          await reader.ack(done)
          assert.deepEqual(await consume(tm.reader('work'), 1), [2])
        })

        it('is refused when the Tidemark is closed too, even if its lease had expired', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('work', { lease: '2s' })
          await tm.publish('work', 1)
          const reader = tm.reader('work')
          const delivery = await receive(reader)
          await until(() => (delivery as Delivery & { signal: AbortSignal }).signal.aborted, {
            what: 'the lease to end',
          })
          await tm.close()
          // Closed, or stale if closing released it in time.
          await assert.rejects(soon(delivery.ack(), 'an answer'), { code: /^TIDEMARK_(CLOSED|STALE_DELIVERY)$/ })
        })
      })
    })
  }

  for (const store of shared) {
    describe(store.name, () => {
      it('gives what an aborted receive() has claimed to other readers at once', async () => {
        await using database = await store.fresh()
        const [here, there] = [await database.open(), await database.open()]
        await here.configureTopic('work', { lease: '1h' })
        const reader = await here.reader('work', { batchSize: 10 }).ready()
        await here.publishBatch('work', [1, 2, 3])
        const abort = new AbortController()
        const lock = await database.lock()
        const receiving = reader.receive({ signal: abort.signal })
        const isClaiming = async () => (await lock.isWaitedFor()) || here.metrics().pool.waiting > 0
        await until(isClaiming, { what: 'the claim to wait' })
        abort.abort()
        await assert.rejects(receiving, { name: 'AbortError' })
        await lock[Symbol.asyncDispose]()
        assert.deepEqual((await consume(there.reader('work'), 3)).toSorted(), [1, 2, 3])
      })
    })
  }
}
