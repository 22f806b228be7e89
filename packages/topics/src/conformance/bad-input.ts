import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import {
  ClosedError,
  ConfigError,
  InvalidNameError,
  open,
  PayloadError,
  type PublishOptions,
  type ReaderOptions,
  type Tidemark,
  type TopicOptions,
} from '../index.ts'
import type { ConformanceDatabase, ConformanceStores } from './conformance-store.ts'
import { collect, range, receive } from './consuming.ts'
import { it } from './it.ts'

const badNames: Record<string, unknown> = {
  empty: '',
  'too long': 'a'.repeat(129),
  'with a space': 'a b',
  'with a slash': 'a/b',
  'with a quote': `a'b`,
  'with a double quote': 'a"b',
  'with a semicolon': 'a;drop table x',
  'with a line break': 'a\n',
  'with a NUL': 'a\0',
  'with a letter that is not plain': 'ä',
  'that begins with a dot': '.a',
  'that begins with a dash': '-a',
  'that is a path': '../a',
  'that is a number': 7,
  'that is null': null,
  'that is an object': {},
}

/** What each public call refuses: unknown options and wrong values, by the option named in the error. */
const badOptions: Record<string, (tm: Tidemark) => unknown> = {
  'configureTopic.retension': tm => tm.configureTopic('t', { retension: '1d' } as TopicOptions),
  'configureTopic.semantics': tm => tm.configureTopic('t', { semantics: 'topic' as never }),
  'configureTopic.tracking': tm => tm.configureTopic('t', { tracking: 'guess' as never }),
  'configureTopic.lease': tm => tm.configureTopic('t', { lease: '5 minutes' as never }),
  'configureTopic.maxAttempts': tm => tm.configureTopic('t', { maxAttempts: 0 }),
  'configureTopic.maxMessageBytes': tm => tm.configureTopic('t', { maxMessageBytes: 1.5 }),
  'configureTopic.dedupeWindow': tm => tm.configureTopic('t', { dedupeWindow: -1 }),
  'configureTopic.backoff.factor': tm => tm.configureTopic('t', { backoff: { factor: 0.5 } }),
  'configureTopic.backoff.first': tm => tm.configureTopic('t', { backoff: { first: 1 } as never }),
  'configureTopic.backoff.max': tm => tm.configureTopic('t', { backoff: { initial: '2s', max: '1s' } }),
  'configureTopic.backoff': tm => tm.configureTopic('t', { backoff: '1s' as never }),
  configureTopic: tm => tm.configureTopic('t', 'queue' as never),
  'publish.keys': tm => tm.publish('t', 1, { keys: 'k' } as PublishOptions),
  'publish.key': tm => tm.publish('t', 1, { key: 'a\0b' }),
  'publish.messageId': tm => tm.publish('t', 1, { messageId: '' }),
  publish: tm => tm.publish('t', 1, null as never),
  'publishBatch.key': tm => tm.publishBatch('t', [1], { key: 'k' } as never),
  'topic.scheme': tm => tm.topic('t', { scheme: {} } as never),
  'topic.schema': tm => tm.topic('t', { schema: {} as never }),
  'reader.groups': tm => tm.reader('t', { groups: 'g' } as ReaderOptions),
  'reader.from': tm => tm.reader('t', { from: 'yesterday' as never }),
  'reader.batchSize': tm => tm.reader('t', { batchSize: 0 }),
  'reader.lease': tm => tm.reader('t', { lease: -1 }),
  'reader.schema': tm => tm.reader('t', { schema: 'zod' as never }),
  'poll.timeout': tm => tm.reader('t').poll(-1),
  'consumerGroup.batch': tm => tm.consumerGroup('t', 'g', { batch: 1 } as never),
  'consumerGroup.batchSize': tm => tm.consumerGroup('t', 'g', { batchSize: 1e6 }),
  'consumerGroup.filter': tm => tm.consumerGroup('t', 'g', { filter: 'all' as never }),
  'consumerGroup.lease': tm => tm.consumerGroup('t', 'g', { lease: 'long' as never }),
  'consumerGroup.autoExtend': tm => tm.consumerGroup('t', 'g', { autoExtend: 0 }),
  'consumerGroup.sharedPayloads': tm => tm.consumerGroup('t', 'g', { sharedPayloads: 1 as never }),
  'addConsumer.threads': tm => tm.consumerGroup('t').addConsumer('a', () => {}, { threads: 2 } as never),
  'addConsumer.concurrency': tm => tm.consumerGroup('t').addConsumer('a', () => {}, { concurrency: Number.NaN }),
  'start.from': tm => started(tm).start({ from: { timestamp: 'x' as never } }),
  'start.backfil': tm => started(tm).start({ backfil: {} } as never),
  'stop.after': tm => started(tm).stop({ after: 1 } as never),
  'stop.timeout': tm => started(tm).stop({ timeout: 'soon' as never }),
  'deadLetters.limit': tm => tm.admin.deadLetters('t', { limit: 0 }),
  'deadLetters.page': tm => tm.admin.deadLetters('t', { page: 2 } as never),
  'nack.delay': async tm => (await delivered(tm)).nack('x', { delay: 'soon' as never }),
  'nack.dealy': async tm => (await delivered(tm)).nack('x', { dealy: 1 } as never),
  extend: async tm => (await delivered(tm)).extend(0),
}

const badOpenOptions: Record<string, object> = {
  'open.namspace': { namspace: 'x' },
  'open.autoCreate': { autoCreate: 'yes' },
  'open.registry': { registry: {} },
  'open.logger': { logger: {} },
  'open.sweepInterval': { sweepInterval: 0 },
  'open.rowCacheBytes': { rowCacheBytes: -1 },
}

const circular: Record<string, unknown> = {}
circular.self = circular

const badPayloads: Record<string, unknown> = {
  undefined,
  'a function': () => {},
  'a symbol': Symbol('s'),
  'a BigInt': 1n,
  'a BigInt inside': { n: 1n },
  'a circle': circular,
  'an ArrayBuffer': new ArrayBuffer(4),
  'a DataView': new DataView(new ArrayBuffer(4)),
  'an array of floats': new Float64Array(4),
  'an object whose toJSON gives nothing': { toJSON: () => undefined },
}

export function badInput({ stores }: ConformanceStores): void {
  for (const store of stores) {
    describe(store.name, () => {
      // For calls that never reach the database.
      let unused: ConformanceDatabase
      before(async () => {
        unused = await store.fresh()
      })
      after(() => unused[Symbol.asyncDispose]())

      describe('a name', () => {
        for (const [what, name] of Object.entries(badNames)) {
          it(`${what} is refused everywhere`, async () => {
            await using tm = await unused.open()
            const bad = name as string
            const calls: [string, () => unknown][] = [
              ['topic', () => tm.publish(bad, 1)],
              ['topic', () => tm.publishBatch(bad, [1])],
              ['topic', () => tm.configureTopic(bad)],
              ['topic', () => tm.topic(bad)],
              ['topic', () => tm.writer(bad)],
              ['topic', () => tm.reader(bad)],
              ['topic', () => tm.consumerGroup(bad, 'g')],
              ['topic', () => tm.admin.describeTopic(bad)],
              ['topic', () => tm.admin.deadLetters(bad)],
              ['group', () => tm.reader('t', { group: bad })],
              ['group', () => tm.consumerGroup('t', bad)],
              ['consumer', () => tm.reader('t', { consumer: bad })],
              ['consumer', () => tm.consumerGroup('t').addConsumer(bad, () => {})],
            ]
            for (const [kind, call] of calls) {
              await assert.rejects(
                async () => await call(),
                (error: unknown) => {
                  assert.ok(error instanceof InvalidNameError, `${kind}: ${error}`)
                  assert.deepEqual([error.kind, error.value, error.code], [kind, name, 'TIDEMARK_INVALID_NAME'])
                  assert.match(error.message, /use 1 to 128 letters/)
                  return true
                },
              )
            }
          })
        }

        it('of 128 letters, with capitals, dots and dashes, is fine', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          for (const name of ['a'.repeat(128), 'Orders.EU-west_1', '7']) {
            await tm.configureTopic(name, { semantics: 'pub-sub' })
            const reader = await tm.reader(name, { group: name, consumer: name }).ready()
            await tm.publish(name, 1)
            await (await receive(reader)).ack()
          }
        })

        it('differs by its case', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.publish('Work', 1)
          assert.equal(await tm.reader('work').poll(0), null)
        })
      })

      describe('an option', () => {
        for (const [option, call] of Object.entries(badOptions)) {
          it(`${option} is refused if it is unknown or wrong`, async () => {
            await using tm = await unused.open()
            await tm.configureTopic('t')
            await assert.rejects(async () => await call(tm), refusal(option))
          })
        }

        for (const [option, options] of Object.entries(badOpenOptions)) {
          it(`${option} is refused if it is unknown or wrong`, async () => {
            await assert.rejects(unused.open(options), refusal(option))
          })
        }
      })

      describe('a payload', () => {
        for (const [what, payload] of Object.entries(badPayloads)) {
          it(`that is ${what} is refused, and nothing is stored`, async () => {
            await using tm = await unused.open()
            await assert.rejects(tm.publish('payloads', payload), PayloadError)
            await assert.rejects(tm.publishBatch('payloads', [1, payload]), PayloadError)
            assert.equal(await tm.reader('payloads').poll(0), null)
          })
        }

        it('must be in an array for a batch', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await assert.rejects(tm.publishBatch('t', 'abc' as never), PayloadError)
          for (const message of [null, undefined, 1]) {
            await assert.rejects(tm.publishMessages('t', [message as never]), PayloadError)
          }
        })
      })

      describe('a key, a messageId and headers', () => {
        it('are texts that every store can store', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          // The last has 1024 characters, and more bytes than fit into a PostgreSQL index.
          const long = range(0x4e00, 0x4e00 + 1_023).map(code => String.fromCharCode(code))
          for (const value of ['', 'a\0', '\ud800', 'x'.repeat(1_025), 7, null, {}, long.join('')]) {
            await assert.rejects(tm.publish('t', 1, { key: value as string }), ConfigError)
            await assert.rejects(tm.publish('t', 1, { messageId: value as string }), ConfigError)
          }
          for (const headers of [
            [],
            'a',
            null,
            { n: 1 },
            { n: null },
            new Map([['n', '1']]),
            new Headers({ n: '1' }),
          ]) {
            await assert.rejects(tm.publish('t', 1, { headers: headers as never }), PayloadError)
          }
          await tm.publish('t', 1, { key: 'k'.repeat(1_024), messageId: 'm'.repeat(1_024) })
          const reader = tm.reader('t')
          assert.equal((await receive(reader)).key?.length, 1_024)
          assert.equal(await reader.poll(0), null)
          // 2047 bytes without repetition, so that they cannot be compressed.
          const { messageId } = await tm.publish('t', 1, { messageId: `${long.slice(0, 682).join('')}x` })
          assert.equal((await receive(reader)).messageId, messageId)
        })
      })

      describe('a delivery', () => {
        it('is settled only by its own reader', async () => {
          await using database = await store.fresh()
          const reader = (await database.open()).reader('t')
          for (const verb of ['ack', 'nack', 'extend'] as const)
            await assert.rejects(reader[verb]({} as never), ConfigError)
        })
      })

      describe('after close()', () => {
        it('everything reports that it is closed, and close() can be repeated', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const [handle, writer, reader] = [tm.topic('t'), tm.writer('t'), tm.reader('t')]
          const [group, running] = [tm.consumerGroup('t'), tm.consumerGroup('t')]
          collect(group, 'a')
          collect(running, 'b')
          await running.start()
          await tm.close()
          await Promise.all([tm.close(), tm.close(), reader.close(), group.stop(), running.stop()])
          const calls: Record<string, () => unknown> = {
            publish: () => tm.publish('t', 1),
            publishBatch: () => tm.publishBatch('t', [1]),
            configureTopic: () => tm.configureTopic('t'),
            topic: () => tm.topic('t'),
            writer: () => tm.writer('t'),
            reader: () => tm.reader('t'),
            consumerGroup: () => tm.consumerGroup('t'),
            dropNamespace: () => tm.dropNamespace(),
            'handle.publish': () => handle.publish(1),
            'handle.reader': () => handle.reader().receive(),
            'writer.send': () => writer.send(1),
            'reader.poll': () => reader.poll(0),
            'reader.receive': () => reader.receive(),
            'group.start': () => group.start(),
            'group.start again': () => running.start(),
            'admin.describeTopic': () => tm.admin.describeTopic('t'),
            'admin.deadLetters': () => tm.admin.deadLetters('t'),
          }
          for (const [name, call] of Object.entries(calls)) {
            await assert.rejects(
              async () => await call(),
              (error: unknown) => {
                assert.ok(error instanceof ClosedError, `${name}: ${error}`)
                return true
              },
            )
          }
        })

        it('a waiting receive() ends with ClosedError', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const received = assert.rejects(tm.reader('t').receive(), ClosedError)
          await tm.close()
          await received
        })

        it('a closed writer sends no more', async () => {
          await using database = await store.fresh()
          const writer = (await database.open()).writer('t')
          await writer.close()
          await writer.close()
          await assert.rejects(writer.send(1), ClosedError)
        })
      })
    })
  }

  describe('open', () => {
    for (const url of ['', 'app.db', 'mysql://localhost/x', 'sqlite:', 'sqlite', 'file:./app.db', 7, null, {}]) {
      it(`refuses the address ${JSON.stringify(url)} and says what is allowed`, async () => {
        await assert.rejects(open(url as string), (error: unknown) => {
          assert.ok(error instanceof ConfigError)
          assert.equal(error.option, 'open.url')
          assert.match(error.message, /sqlite:<file>/)
          return true
        })
      })
    }

    it('refuses a namespace that could not be part of a file name', async () => {
      for (const namespace of ['', 'A', '../x', 'a/b', 'ä', '.', 'x'.repeat(129), 7]) {
        await assert.rejects(open('sqlite::memory:', { namespace: namespace as string }), InvalidNameError)
      }
    })

    it('refuses the options of another engine', async () => {
      await assert.rejects(open('sqlite::memory:', { poolSize: 5 }), refusal('open.poolSize'))
      await assert.rejects(open('postgres://127.0.0.1:1/x', { busyTimeout: '1s' }), refusal('open.busyTimeout'))
      await assert.rejects(open('postgres://127.0.0.1:1/x', { poolSize: 1 }), refusal('open.poolSize'))
      await assert.rejects(open('sqlite::memory:', { durability: 'none' as never }), refusal('open.durability'))
    })
  })
}

const refusal = (option: string) => (error: unknown) => {
  assert.ok(error instanceof ConfigError, String(error))
  assert.deepEqual([error.option, error.code], [option, 'TIDEMARK_CONFIG'])
  assert.ok(error.message.includes(option) && error.message.includes('allowed:'), error.message)
  return true
}

function started(tm: Tidemark) {
  const group = tm.consumerGroup('t')
  collect(group)
  return group
}

async function delivered(tm: Tidemark) {
  await tm.publish('t', 1)
  return await receive(tm.reader('t'))
}
