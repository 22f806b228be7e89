import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { AnySchema } from '@bufbuild/protobuf/wkt'
import { ConfigError, InvalidNameError, type Schema, SchemaError, type Tidemark, UnknownTypeError } from 'tidemark'
import * as v from 'valibot'
import { z } from 'zod'
import { until } from '../../../../testing/until.ts'
import { collect, groupOf, happened, receive } from '../../src/conformance/consuming.ts'
import { STORES } from './stores.ts'

const AT = '2026-05-01T12:00:00.000Z'

/** Published with `at` as a string and perhaps without a note; received with a Date and a note. */
const transforming = {
  Zod: z.object({ at: z.iso.datetime().transform(text => new Date(text)), note: z.string().default('none') }),
  Valibot: v.object({
    at: v.pipe(
      v.string(),
      v.transform(text => new Date(text)),
    ),
    note: v.optional(v.string(), 'none'),
  }),
}

const storedPayloads = async (tm: Tidemark, topic: string): Promise<unknown[]> =>
  (await tm.admin.browse(topic)).messages.map(({ payload }) => payload)

for (const store of STORES) {
  describe(store.name, () => {
    describe('a schema that transforms', () => {
      for (const [vendor, schema] of Object.entries(transforming)) {
        it(`of ${vendor} takes its input and returns its output; the input is stored`, async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const events = tm.topic('events', { schema })
          await events.publish({ at: AT })
          await events.publishMessages([{ payload: { at: AT, note: 'b' }, key: 'k' }])
          await events.writer().send({ at: AT, note: 'c' })
          assert.deepEqual(await storedPayloads(tm, 'events'), [
            `{"at":"${AT}"}`,
            `{"at":"${AT}","note":"b"}`,
            `{"at":"${AT}","note":"c"}`,
          ])
          const { messages, receipt } = await events.pull()
          assert.deepEqual([messages[0]?.payload.at, messages[0]?.payload.note], [new Date(AT), 'none'])
          await tm.settle(receipt ?? '', { acks: 'all' })
          const reader = events.reader()
          const delivery = await receive(reader)
          assert.deepEqual([delivery.payload.at.getTime(), delivery.payload.note], [Date.parse(AT), 'b'])
          await reader.ack(delivery)
          await reader.close()
          const seen: string[] = []
          const group = events.group().addConsumer('a', ({ payload }) => seen.push(payload.at.toISOString()))
          await group.start()
          assert.deepEqual(await happened(seen, 1, 'the third'), [AT])
        })
      }

      it('refuses at publish what it would refuse at every delivery', async () => {
        await using database = await store.fresh()
        const tm = await database.open()
        const strict = tm.topic('events', { schema: z.object({ at: z.date() }) })
        await assert.rejects(strict.publish({ at: new Date(AT) }), (error: unknown) => {
          assert.ok(error instanceof SchemaError)
          assert.equal(error.issues[0]?.path, 'at')
          return true
        })
        const coercing = tm.topic('events', { schema: z.object({ at: z.coerce.date() }) })
        await coercing.publish({ at: new Date(AT) })
        assert.deepEqual(await storedPayloads(tm, 'events'), [`{"at":"${AT}"}`])
        assert.deepEqual((await receive(coercing.reader())).payload.at, new Date(AT))
      })

      it('checks what is stored, even if the payload is changed while it checks', async () => {
        await using database = await store.fresh()
        const tm = await database.open()
        const payload = { n: 1 }
        const schema = z.object({ n: z.number() }).refine(async () => {
          payload.n = 'changed' as never
          return true
        })
        await tm.topic('events', { schema }).publish(payload)
        assert.deepEqual(await storedPayloads(tm, 'events'), ['{"n":1}'])
      })
    })

    describe('schemas given to open', () => {
      const schemas = { orders: z.object({ orderId: z.number() }), events: transforming.Zod }

      it('check what is published by every method, and leave other topics alone', async () => {
        await using database = await store.fresh()
        const tm: Tidemark = await database.open({ schemas })
        const wrong = { orderId: 'seven' }
        const refused = {
          publish: () => tm.publish('orders', wrong),
          publishBatch: () => tm.publishBatch('orders', [{ orderId: 1 }, wrong]),
          publishMessages: () => tm.publishMessages('orders', [{ payload: { orderId: 1 } }, { payload: wrong }]),
          writer: () => tm.writer('orders').send(wrong),
          topic: () => tm.topic('orders').publish(wrong),
        }
        for (const [verb, publish] of Object.entries(refused)) await assert.rejects(publish(), SchemaError, verb)
        await tm.publish('others', wrong)
        await tm.publish('orders', { orderId: 7 })
        assert.deepEqual(await storedPayloads(tm, 'orders'), ['{"orderId":7}'])
      })

      it('check what is consumed by every method, unless a call has its own schema', async () => {
        await using database = await store.fresh()
        const tm: Tidemark = await database.open({ schemas })
        await tm.configureTopic('events', { semantics: 'pub-sub' })
        const group = tm.consumerGroup('events', 'group')
        const deliveries = collect(group)
        await group.start()
        const reader = await tm.reader('events', { group: 'reader' }).ready()
        await tm.pull('events', 'pull')
        const own = await tm.reader('events', { group: 'own', schema: z.object({ at: z.string() }) }).ready()
        await tm.publish('events', { at: AT })
        const expected = { at: new Date(AT), note: 'none' }
        await happened(deliveries, 1, 'the delivery')
        assert.deepEqual(deliveries[0]?.payload, expected)
        assert.deepEqual((await receive(reader)).payload, expected)
        assert.deepEqual((await tm.pull('events', 'pull')).messages[0]?.payload, expected)
        assert.deepEqual((await receive(own)).payload, { at: AT })
      })

      it('are refused if they are invalid', async () => {
        await using database = await store.fresh()
        for (const wrong of [z.string(), { orders: {} }, { orders: undefined }, ['x'], 'zod', { orders: null }]) {
          await assert.rejects(database.open({ schemas: wrong as never }), ConfigError)
        }
        await assert.rejects(database.open({ schemas: { 'no name': z.string() } }), InvalidNameError)
      })
    })

    describe('a pull', () => {
      it('decodes payloads; one that its schema refuses is a failed attempt and not returned', async () => {
        await using database = await store.fresh()
        const tm = await database.open()
        await tm.configureTopic('work', { maxAttempts: 1 })
        await tm.publishBatch('work', [1, 'two', 3, 'four', 5])
        const { messages, receipt } = await tm.pull('work', undefined, { max: 10, schema: z.number() })
        assert.deepEqual(
          messages.map(({ payload, attempt }) => [payload, attempt]),
          [1, 3, 5].map(payload => [payload, 1]),
        )
        const [, third] = messages
        await tm.settle(receipt ?? '', { acks: 'all', nacks: [{ id: third?.id ?? 0 }] })
        await until(async () => (await tm.admin.deadLetters('work')).length === 3, { what: 'the dead letters' })
        const letters = await tm.admin.deadLetters('work')
        assert.deepEqual(letters.map(({ payload }) => payload).sort(), ['"four"', '"two"', '3'])
        assert.equal((await groupOf(tm, 'work')).inFlight, 0)
      })

      it('keeps waiting if everything it claimed was refused', async () => {
        await using database = await store.fresh()
        const tm = await database.open()
        await tm.configureTopic('work', { maxAttempts: 1 })
        await tm.publishBatch('work', ['a', 'b'])
        const waiting = tm.pull('work', undefined, { max: 2, wait: '1h', schema: z.number() })
        await until(async () => (await tm.admin.deadLetters('work')).length === 2, { what: 'the dead letters' })
        await tm.publish('work', 3)
        assert.deepEqual(
          (await waiting).messages.map(({ payload }) => payload),
          [3],
        )
      })

      it('returns payloads as stored on request, and then takes no schema', async () => {
        await using database = await store.fresh()
        const tm = await database.open()
        await tm.publish('work', { n: 1 })
        const schema: Schema = z.number()
        await assert.rejects(tm.pull('work', undefined, { raw: true, schema } as never), ConfigError)
        const { messages } = await tm.pull('work', undefined, { raw: true })
        assert.equal(messages[0]?.payload, '{"n":1}')
      })

      it('counts an undecodable payload as a failed attempt', async () => {
        await using database = await store.fresh()
        const tm = await database.open()
        await tm.configureTopic('work', { maxAttempts: 1 })
        const unknown = create(AnySchema, { typeUrl: 'type.googleapis.com/no.Such', value: Uint8Array.of(1) })
        await tm.publishBatch('work', [1, unknown, 3])
        const { messages } = await tm.pull('work', undefined, { max: 10 })
        assert.deepEqual(
          messages.map(({ payload }) => payload),
          [1, 3],
        )
        await until(async () => (await tm.admin.deadLetters('work')).length === 1, { what: 'the dead letter' })
        assert.equal((await tm.admin.deadLetters('work'))[0]?.error.name, UnknownTypeError.name)
      })
    })
  })
}
