import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { type Events, type Logger, PayloadError, type Schema, type Tidemark } from '../index.ts'
import { type ConformanceStores, needs } from './conformance-store.ts'
import { collect, consume, eventsOf, payloadsOf, range, receive } from './consuming.ts'
import { it } from './it.ts'
import { until } from './until.ts'

/** An error with a property that no ordinary error has. */
function errorWith(property: string, descriptor: PropertyDescriptor): Error {
  return Object.defineProperty(new Error('as made'), property, { configurable: true, ...descriptor })
}

const throwing = (): never => {
  throw new Error('of the getter')
}
const trap: ProxyHandler<object> = {
  get: throwing,
  has: throwing,
  getPrototypeOf: throwing,
  ownKeys: throwing,
  getOwnPropertyDescriptor: throwing,
}
function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}
function circular(): object {
  const one: Record<string, unknown> = { why: 'round and round' }
  one.self = one
  return one
}
/** Returns something sensible once, and throws from then on. */
function onceOnly(): Error {
  let reads = 0
  return errorWith('message', { get: () => (reads++ === 0 ? 'said once' : throwing()) })
}

/** What user code may throw, and how it is recorded. */
const ODD: Record<string, [make: () => unknown, message: RegExp]> = {
  'an Error whose message is undefined': [() => errorWith('message', { value: undefined }), /without a message/],
  'an Error whose message is null': [() => errorWith('message', { value: null }), /without a message/],
  'an Error whose message is an object': [() => errorWith('message', { value: { code: 7 } }), /code: 7/],
  'an Error whose message is a symbol': [() => errorWith('message', { value: Symbol('odd') }), /Symbol\(odd\)/],
  'an Error whose message is a bigint': [() => errorWith('message', { value: 7n }), /7/],
  'an Error whose message is a throwing getter': [() => errorWith('message', { get: throwing }), /cannot be read/],
  'an Error whose message throws at the second look': [onceOnly, /said once/],
  'an Error whose name is undefined': [() => errorWith('name', { value: undefined }), /as made/],
  'an Error whose name is an object': [() => errorWith('name', { value: {} }), /as made/],
  'an Error whose name is a throwing getter': [() => errorWith('name', { get: throwing }), /as made/],
  'an Error whose stack is a throwing getter': [() => errorWith('stack', { get: throwing }), /as made/],
  'an Error with a field that throws': [() => errorWith('detail', { get: throwing, enumerable: true }), /as made/],
  'an object without prototype': [() => Object.create(null), /null prototype/],
  'an object whose toString throws': [() => ({ toString: throwing, [Symbol.toPrimitive]: throwing }), /toString/],
  'a throwing proxy': [() => new Proxy({}, trap), /./],
  'a throwing proxy of an Error': [() => new Proxy(new Error('inside'), trap), /./],
  'a revoked proxy': [revoked, /[Rr]evoked/],
  'a function': [() => throwing, /Function/],
  'a circular object': [circular, /round and round/],
  'a symbol': [() => Symbol('bare'), /Symbol\(bare\)/],
  'a bigint': [() => 12n, /12/],
  null: [() => null, /null/],
  undefined: [() => undefined, /undefined/],
  'a message with NUL': [() => new Error('before\0after'), /^before\ufffdafter$/],
  'a message with half a surrogate pair': [() => new Error('half \ud800 pair'), /^half \ufffd pair$/],
  'a name with NUL': [() => errorWith('name', { value: 'Nul\0Error' }), /as made/],
  'a huge message': [() => new Error('x'.repeat(5_000_000)), /^x{1900}/],
  'a huge name': [() => errorWith('name', { value: 'N'.repeat(5_000_000) }), /as made/],
}

export function oddErrors({ stores }: ConformanceStores): void {
  for (const store of stores) {
    describe(store.name, () => {
      const unhandled: unknown[] = []
      const note = (reason: unknown): unknown => unhandled.push(reason)
      before(() => process.on('unhandledRejection', note))
      after(() => {
        process.off('unhandledRejection', note)
        assert.deepEqual(unhandled.length, 0, 'unhandled rejections')
      })

      it('treats anything thrown by a handler as a failed attempt of that message, with a readable error', async () => {
        await using database = await store.fresh()
        const tm = await database.open({ logger: serializing() })
        await tm.configureTopic('work', { maxAttempts: 2, backoff: { initial: 1, max: 1 } })
        await tm.configureTopic('innocent', { maxAttempts: 1 })
        const nacked = eventsOf(tm, 'nacked')
        const names = Object.keys(ODD)
        const group = tm.consumerGroup<string>('work')
        const done: string[] = []
        group.addConsumer('sync', ({ payload, attempt }) => {
          const [make] = ODD[payload] ?? []
          if (make === undefined) return void done.push(payload)
          if (attempt === 1) throw make()
          return Promise.reject(make())
        })
        const innocent = tm.consumerGroup<number>('innocent', undefined, { batchSize: 20 })
        const deliveries = collect(innocent)
        await Promise.all([group.start(), innocent.start()])
        const neighbours = names.map(name => `beside ${name}`)
        const work = names.flatMap((name, at) => [name, neighbours[at]])
        await Promise.all([tm.publishBatch('work', work), tm.publishBatch('innocent', range(1, 20))])
        const letters = async () => await tm.admin.deadLetters('work', { limit: 100 })
        await until(async () => (await letters()).length === names.length, { what: 'the dead letters' })
        for (const { payload, error, history } of await letters()) {
          const what: string = JSON.parse(String(payload))
          assert.match(error.message, ODD[what]?.[1] ?? /never/, what)
          assert.ok(error.message.length <= 2_000 && error.name.length <= 200, what)
          assert.equal(history.length, 2, what)
        }
        assert.ok(nacked.every(({ error }) => typeof error.message === 'string'))
        await until(() => tm.metrics().totals.acked === 20 + names.length, { what: 'the neighbours' })
        assert.deepEqual(done.toSorted(), neighbours.toSorted())
        assert.deepEqual(payloadsOf(deliveries), range(1, 20))
        assert.deepEqual([group.running, innocent.running], [true, true])
        assert.equal((await tm.admin.deadLetters('innocent')).length, 0)
      })

      it('accepts anything passed to nack()', async () => {
        await using database = await store.fresh()
        const tm = await database.open()
        await tm.configureTopic('work', { maxAttempts: 1 })
        await tm.publishBatch('work', Object.keys(ODD))
        const reader = tm.reader<string>('work', { batchSize: 100 })
        for (const [make] of Object.values(ODD)) await (await receive(reader)).nack(make())
        const letters = await tm.admin.deadLetters('work', { limit: 100 })
        assert.equal(letters.length, Object.keys(ODD).length)
      })

      it('accepts any error passed to settle() of a receipt', async () => {
        await using database = await store.fresh()
        const tm = await database.open()
        await tm.configureTopic('work', { maxAttempts: 1 })
        await tm.publishBatch('work', Object.keys(ODD))
        const { receipt, messages } = await tm.pull('work', undefined, { max: 100 })
        const makers = Object.values(ODD).map(([make]) => make)
        await tm.settle(receipt ?? '', { nacks: messages.map(({ id }, n) => ({ id, error: makers[n]?.() })) })
        assert.equal((await tm.admin.deadLetters('work', { limit: 100 })).length, makers.length)
      })

      describe('a filter', () => {
        for (const [what, filter] of Object.entries<() => unknown>({
          'that throws oddly': () => {
            throw new Proxy({}, trap)
          },
          'that rejects': () => Promise.reject(errorWith('message', { get: throwing })),
          'that is asynchronous': async () => true,
        })) {
          for (const where of ['group', 'member'] as const) {
            it(`of a ${where} ${what} is a failed attempt`, async () => {
              await using database = await store.fresh()
              const tm = await database.open()
              await tm.configureTopic('work', { maxAttempts: 1 })
              const pick = ({ payload }: { payload: number }) => (payload === 2 ? filter() : true) as boolean
              const group = tm.consumerGroup<number>('work', undefined, where === 'group' ? { filter: pick } : {})
              const done: number[] = []
              group.addConsumer('a', ({ payload }) => done.push(payload), where === 'member' ? { filter: pick } : {})
              await group.start()
              await tm.publishBatch('work', [1, 2, 3])
              await until(async () => (await tm.admin.deadLetters('work')).length === 1, { what: 'the dead letter' })
              await until(() => done.length === 2, { what: 'the others' })
              assert.deepEqual(done, [1, 3])
            })
          }
        }
      })

      describe('a schema', () => {
        for (const [what, validate] of Object.entries<(value: unknown) => unknown>({
          'that throws oddly': () => {
            throw Object.create(null)
          },
          'that rejects oddly': () => Promise.reject(new Proxy({}, trap)),
          'that returns nothing': () => undefined,
          'that returns null': () => null,
          'whose issues are no list': () => ({ issues: 7 }),
          'whose issues cannot be read': () => ({ issues: [new Proxy({}, trap)] }),
          'whose issue has an odd path': () => ({ issues: [{ message: 'odd', path: [Object.create(null)] }] }),
          'whose issue has no message': () => ({ issues: [{ message: undefined }] }),
          // biome-ignore lint/suspicious/noThenProperty: a promise of another library.
          'whose thenable rejects': () => ({ then: (_: unknown, reject: (why: unknown) => void) => reject('no') }),
        })) {
          it(`${what} is a failed attempt`, async () => {
            await using database = await store.fresh()
            const tm = await database.open()
            await tm.configureTopic('work', { maxAttempts: 1 })
            const schema = schemaOf(value => (value === 2 ? validate(value) : { value }))
            const deliveries: unknown[] = []
            const group = tm.consumerGroup('work', undefined, { schema })
            group.addConsumer('a', ({ payload }) => deliveries.push(payload))
            await group.start()
            await tm.publishBatch('work', [1, 2, 3])
            await until(async () => (await tm.admin.deadLetters('work')).length === 1, { what: 'the dead letter' })
            await until(() => deliveries.length === 2, { what: 'the others' })
            assert.deepEqual(deliveries, [1, 3])
            await group.stop()
            await tm.publishBatch('work', [2, 3])
            const delivery = await receive(tm.reader('work', { schema }))
            assert.equal(delivery.payload, 3)
          })
        }

        it('that returns a thenable is awaited', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          // biome-ignore lint/suspicious/noThenProperty: a promise of another library.
          const later = (value: unknown) => ({ then: (resolve: (result: unknown) => void) => resolve({ value }) })
          const group = tm.consumerGroup('work', undefined, { schema: schemaOf(later) })
          const deliveries = collect(group)
          await group.start()
          await tm.publish('work', 7)
          await until(() => deliveries.length === 1, { what: 'the message' })
          assert.equal(deliveries[0]?.payload, 7)
        })
      })

      describe('a payload that cannot be encoded', () => {
        const unreadable: Record<string, unknown> = {
          'whose toJSON throws oddly': {
            toJSON() {
              throw Object.create(null)
            },
          },
          'that is a throwing proxy': new Proxy({}, trap),
          'that is a revoked proxy': revoked(),
          'whose $typeName throws': Object.defineProperty({}, '$typeName', { get: throwing }),
        }
        for (const [what, payload] of Object.entries(unreadable)) {
          it(`(${what}) is refused with a PayloadError, and nothing is stored`, async () => {
            await using database = await store.fresh()
            const tm = await database.open()
            await assert.rejects(tm.publish('work', payload), PayloadError)
            await assert.rejects(tm.publishBatch('work', [1, payload]), PayloadError)
            assert.equal(tm.metrics().totals.published, 0)
            await tm.publish('work', 1)
          })
        }

        it('unreadable headers are refused too', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const headers = Object.defineProperty({}, 'trace', { get: throwing, enumerable: true })
          await assert.rejects(tm.publish('work', 1, { headers }), PayloadError)
          await assert.rejects(
            tm.publish('work', 1, { headers: new Proxy({}, trap) as Record<string, string> }),
            PayloadError,
          )
          let reads = 0
          const changing = Object.defineProperty({}, 'trace', {
            enumerable: true,
            get: () => (reads++ === 0 ? 'text' : { no: 'text' }),
          })
          await tm.publish('work', 1, { headers: changing })
          assert.deepEqual((await receive(tm.reader('work'))).headers, { trace: 'text' })
        })
      })

      describe('a listener', () => {
        it('that throws or rejects does not affect other listeners or the call', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const heard: Events['published'][] = []
          tm.on('published', () => {
            throw new Proxy({}, trap)
          })
          tm.on('published', async () => {
            throw errorWith('message', { get: throwing })
          })
          tm.on('published', event => heard.push(event))
          await tm.publish('work', 1)
          assert.equal(heard.length, 1)
          assert.deepEqual(await consume(tm.reader('work'), 1), [1])
        })
      })

      describe('a logger', () => {
        for (const [what, log] of Object.entries<() => unknown>({
          'that throws': () => {
            throw new Proxy({}, trap)
          },
          'that rejects': () => Promise.reject(Object.create(null)),
        })) {
          it(`${what} fails nothing`, async () => {
            await using database = await store.fresh()
            const logger = { debug: log, info: log, warn: log, error: log } as Logger
            const tm = await database.open({ logger })
            await tm.configureTopic('work', { maxAttempts: 1 })
            const ref = await tm.publish('work', 1)
            assert.ok(ref.id > 0)
            const group = tm.consumerGroup<number>('work')
            group.addConsumer('a', ({ payload }) => {
              if (payload === 1) throw new Error('no')
            })
            await group.start()
            await tm.publish('work', 2)
            await until(() => tm.metrics().totals.acked === 1, { what: 'the second message' })
            await until(async () => (await tm.admin.deadLetters('work')).length === 1, { what: 'the dead letter' })
            await group.stop()
            await tm.close()
          })
        }
      })

      it('continues with a switch of tracking whose onProgress throws', needs(store, 'tracking'), async () => {
        await using database = await store.fresh()
        const tm = await database.open()
        await tm.configureTopic('events', { semantics: 'pub-sub' })
        await tm.reader('events', { group: 'g' }).ready()
        for (const from of [0, 1, 2]) await tm.publishBatch('events', range(from * 5_000 + 1, (from + 1) * 5_000))
        await tm.admin.setTracking('events', 'reference', {
          onProgress: () => {
            throw new Proxy({}, trap)
          },
        })
        assert.equal((await trackedBy(tm)).tracking, 'reference')
        assert.equal((await tm.admin.completion('events', { limit: 1_000 })).length, 1_000)
      })
    })
  }
}

const trackedBy = async (tm: Tidemark) => {
  const [topic] = await tm.admin.topics()
  assert.ok(topic)
  return topic.config
}

const schemaOf = (validate: (value: unknown) => unknown): Schema =>
  ({ '~standard': { version: 1, vendor: 'test', validate } }) as Schema

/** Reads every property of an error, as loggers do. */
function serializing(): Logger {
  const log = (fields: object): void => {
    const { err } = fields as { err?: Error }
    if (err !== undefined) JSON.stringify({ ...err, name: err.name, message: err.message, stack: err.stack })
  }
  return { debug: log, info: log, warn: log, error: log }
}
