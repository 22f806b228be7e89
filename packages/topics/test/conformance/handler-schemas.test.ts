/** Schemas of other libraries: those are no dependencies of the package, so its conformance suites can't have them. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { SchemaError } from 'tidemark'
import * as v from 'valibot'
import { z } from 'zod'
import { until } from '../../../../testing/until.ts'
import { happened, range, receive } from '../../src/conformance/consuming.ts'
import { STORES } from './stores.ts'

for (const store of STORES) {
  describe(store.name, () => {
    describe('a schema', () => {
      const schemas = {
        Zod: z.object({ orderId: z.number(), note: z.string().default('none') }),
        Valibot: v.object({ orderId: v.number(), note: v.optional(v.string(), 'none') }),
        'Zod, asynchronous': z.object({
          orderId: z.number().refine(async id => id > 0),
          note: z.string().default('none'),
        }),
      }
      for (const [name, schema] of Object.entries(schemas)) {
        it(`of ${name} types and checks every payload; one that fails is a failed attempt`, async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('orders', { maxAttempts: 1 })
          const group = tm.consumerGroup('orders', 'mail', { schema })
          const orders: { orderId: number; note: string }[] = []
          group.addConsumer('a', ({ payload }) => {
            orders.push({ orderId: payload.orderId, note: payload.note })
          })
          await group.start()
          await tm.publishBatch('orders', [{ orderId: 1 }, { orderId: 'two' }, { orderId: 3, note: 'x' }])
          await happened(orders, 2, 'the two that fit')
          await until(async () => (await tm.admin.deadLetters('orders')).length === 1, { what: 'the dead letter' })
          const [letter] = await tm.admin.deadLetters('orders')
          assert.equal(letter?.payload, '{"orderId":"two"}')
          assert.equal(letter?.error.name, 'SchemaError')
          assert.match(letter?.error.message ?? '', /orders.*orderId/)
          assert.deepEqual(orders, [
            { orderId: 1, note: 'none' },
            { orderId: 3, note: 'x' },
          ])
          assert.equal(group.running, true)
        })
      }

      it('of a topic handle checks what is published, and types its readers', async () => {
        await using database = await store.fresh()
        const tm = await database.open()
        const orders = tm.topic('orders', { schema: schemas.Zod })
        await orders.publish({ orderId: 7, note: 'n' })
        await orders.writer().send({ orderId: 8, note: 'n' })
        await orders.publishBatch([{ orderId: 9, note: 'n' }])
        const wrong = { orderId: 'x' } as never
        await assert.rejects(orders.publish(wrong), (error: unknown) => {
          assert.ok(error instanceof SchemaError)
          assert.equal(error.issues[0]?.path, 'orderId')
          return true
        })
        await assert.rejects(orders.publishBatch([{ orderId: 1, note: 'n' }, wrong]), SchemaError)
        const reader = orders.reader()
        const ids: number[] = []
        for (const _ of range(1, 3)) ids.push((await receive(reader)).payload.orderId)
        assert.deepEqual(ids, [7, 8, 9])
        assert.equal(await reader.poll(0), null)
      })

      it('of a reader makes an invalid message a failed attempt, and the next one is delivered', async () => {
        await using database = await store.fresh()
        const tm = await database.open()
        await tm.configureTopic('orders', { maxAttempts: 1 })
        await tm.publishBatch('orders', [{ orderId: 'x' }, { orderId: 2 }])
        const reader = tm.reader('orders', { schema: schemas.Zod })
        assert.equal((await receive(reader)).payload.orderId, 2)
        await until(async () => (await tm.admin.deadLetters('orders')).length === 1, { what: 'the dead letter' })
      })
    })
  })
}
