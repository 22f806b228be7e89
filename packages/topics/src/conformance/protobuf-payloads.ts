import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { create, createRegistry, equals, isMessage } from '@bufbuild/protobuf'
import {
  AnySchema,
  anyPack,
  type StringValue,
  StringValueSchema,
  type Timestamp,
  TimestampSchema,
  type Value,
  ValueSchema,
} from '@bufbuild/protobuf/wkt'
import { PayloadError, UnknownTypeError } from '../index.ts'
import type { ConformanceStores } from './conformance-store.ts'
import { collect, consume, happened, receive } from './consuming.ts'
import { it } from './it.ts'
import { until } from './until.ts'

const registry = createRegistry(TimestampSchema, StringValueSchema, ValueSchema)

export function protobufPayloads({ stores }: ConformanceStores): void {
  for (const store of stores) {
    describe(store.name, () => {
      describe('a protobuf payload', () => {
        it('is stored under its type and comes back as a message of it', async () => {
          await using database = await store.fresh()
          const tm = await database.open({ registry })
          const sent = create(TimestampSchema, { seconds: 12_345n, nanos: 6 })
          await tm.publish('work', sent)
          const delivery = await receive(tm.reader<Timestamp>('work'))
          assert.equal(delivery.type, 'type.googleapis.com/google.protobuf.Timestamp')
          assert.ok(equals(TimestampSchema, delivery.payload, sent))
        })

        it('may be packed in an Any, also one whose type this process does not know', async () => {
          await using database = await store.fresh()
          const tm = await database.open({ registry })
          await tm.publish('work', anyPack(StringValueSchema, create(StringValueSchema, { value: 'packed' })))
          await tm.publish('work', create(AnySchema, { typeUrl: 'example.org/x.Unknown', value: Uint8Array.of(1) }))
          const reader = tm.reader<StringValue>('work')
          const delivery = await receive(reader)
          assert.equal(delivery.payload.value, 'packed')
          assert.equal(delivery.type, 'type.googleapis.com/google.protobuf.StringValue')
          assert.equal((await tm.admin.describeTopic('work')).messagesPublished, 2)
        })

        it('is resolved message by message if a topic mixes types', async () => {
          await using database = await store.fresh()
          const tm = await database.open({ registry })
          await tm.publish('work', create(StringValueSchema, { value: 'text' }))
          await tm.publish('work', { plain: 'json' })
          await tm.publish('work', create(ValueSchema, { kind: { case: 'numberValue', value: 1.5 } }))
          await tm.publish('work', Uint8Array.of(9))
          await tm.publish('work', create(TimestampSchema, { seconds: 7n }))
          const [text, json, value, bytes, time] = await consume(tm.reader('work', { batchSize: 5 }), 5)
          assert.ok(isMessage(text, StringValueSchema) && text.value === 'text')
          assert.deepEqual(json, { plain: 'json' })
          assert.deepEqual((value as Value).kind, { case: 'numberValue', value: 1.5 })
          assert.deepEqual(bytes, Uint8Array.of(9))
          assert.ok(isMessage(time, TimestampSchema) && time.seconds === 7n)
        })

        it('without its schema in the registry is refused, with what to do', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await assert.rejects(tm.publish('work', create(TimestampSchema)), (error: unknown) => {
            assert.ok(error instanceof UnknownTypeError)
            assert.equal(error.typeUrl, 'type.googleapis.com/google.protobuf.Timestamp')
            assert.match(error.message, /createRegistry/)
            return true
          })
          await assert.rejects(tm.publish('work', create(AnySchema)), PayloadError)
          // As it comes out of foreign JSON: the length is only a claim.
          const claimed = { $typeName: 'google.protobuf.Any', typeUrl: 'a/b', value: { length: 1e9 } }
          await assert.rejects(tm.publish('work', claimed), PayloadError)
        })

        it('needs a type URL that every store can keep', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const any = (typeUrl: string) => create(AnySchema, { typeUrl, value: Uint8Array.of(1) })
          for (const typeUrl of ['x/a\0b', 'x/\ud800', `x/${'a'.repeat(10_000)}`]) {
            await assert.rejects(tm.publish('work', any(typeUrl)), PayloadError)
          }
          // Nothing would distinguish them from plain payloads.
          await assert.rejects(tm.publish('work', any('bytes')), PayloadError)
          assert.equal(await tm.reader('work').poll(0), null)
        })
      })

      describe('a payload that its consumer cannot decode', () => {
        it('is a failed attempt with a clear error; it ends among the dead letters intact, and the others continue', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('work', { maxAttempts: 2, backoff: { initial: 1, max: 1 } })
          const group = tm.consumerGroup('work')
          const deliveries = collect(group)
          await group.start()
          await tm.publish('work', 1)
          await tm.publish('work', create(AnySchema, { typeUrl: 'example.org/x.Unknown', value: Uint8Array.of(1, 2) }))
          await tm.publish('work', 2)
          await happened(deliveries, 2, 'the two others')
          await until(async () => (await tm.admin.deadLetters('work')).length === 1, { what: 'the dead letter' })
          const [letter] = await tm.admin.deadLetters('work')
          assert.ok(letter)
          assert.deepEqual([letter.type, letter.attempts], ['example.org/x.Unknown', 2])
          assert.deepEqual(letter.payload, Uint8Array.of(1, 2))
          assert.equal(letter.error.name, 'UnknownTypeError')
          assert.match(letter.error.message, /example\.org\/x\.Unknown.*createRegistry/)
          assert.equal(letter.history.length, 2)
          assert.equal(group.running, true)
        })

        it('also if its bytes do not match its type', async () => {
          await using database = await store.fresh()
          const tm = await database.open({ registry })
          await tm.configureTopic('work', { maxAttempts: 1 })
          const typeUrl = 'type.googleapis.com/google.protobuf.Timestamp'
          await tm.publish('work', create(AnySchema, { typeUrl, value: Uint8Array.of(0xff, 0xff, 0xff) }))
          await tm.publish('work', 'next')
          const reader = tm.reader('work')
          assert.equal((await receive(reader)).payload, 'next')
          await until(async () => (await tm.admin.deadLetters('work')).length === 1, { what: 'the dead letter' })
          const [letter] = await tm.admin.deadLetters('work')
          assert.equal(letter?.error.name, 'DecodeError')
        })
      })
    })
  }
}
