/**
 * Odd values, given to every verb that takes them: every store answers the same, and none with an error of its engine. It compares
 * the built-in engines with each other, so it is no suite for one.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ConfigError, DatabaseError, InvalidNameError, open, type Tidemark, type Tracking } from 'tidemark'
import { consume, range } from '../../src/conformance/consuming.ts'
import { schemaName } from '../../src/stores/postgres/schema-name.ts'
import { SECLUDED_STORES, SHARED_STORES } from './stores.ts'

const TEXTS = ['a\0b', 'a\ud800b', '\udc00', '', 'x'.repeat(5_000), `a'b"c\\`, '😀', '%_*']
const TIMES = [
  Number.NaN,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
  -1,
  0,
  1.5,
  8.64e15,
  -8.64e15,
  8.65e15,
  1e20,
]
const NUMBERS = [...TIMES, 2 ** 31, 2 ** 53 - 1, 2 ** 53, 2 ** 60]

type Verb = (tm: Tidemark, value: never) => Promise<unknown>

const WITH_TEXTS: Record<string, Verb> = {
  'publish.key': async (tm, key) => (await tm.publish('p', 1, { key })).duplicate,
  'publish.messageId': async (tm, messageId) => (await tm.publish('p', 1, { messageId })).messageId,
  'publish.headers': async (tm, value) => {
    const { id } = await tm.publish('p', 1, { headers: { name: value, [`${value}`]: 'value' } })
    return (await tm.admin.browse('p', { after: id - 1 })).messages[0]?.headers
  },
  'publish, a payload': async (tm, value) => {
    const { id } = await tm.publish('p', { value })
    return (await tm.admin.browse('p', { after: id - 1 })).messages[0]?.payload
  },
  'publish, a type': async (tm, typeUrl) =>
    (await tm.publish('p', { $typeName: 'google.protobuf.Any', typeUrl, value: new Uint8Array(1) })).duplicate,
  'browse.key': async (tm, key) => (await tm.admin.browse('p', { key })).messages.length,
  'browse.type': async (tm, type) => (await tm.admin.browse('p', { type })).messages.length,
  'browse.after': async (tm, after) => (await tm.admin.browse('p', { after })).messages.length,
  'redrive.key': (tm, key) => tm.admin.redrive('p', { key }),
  'redrive.type': (tm, type) => tm.admin.redrive('p', { type }),
  'redrive.errorName': (tm, errorName) => tm.admin.redrive('p', { errorName }),
  'redrive.group': (tm, group) => tm.admin.redrive('p', { group }),
  'discard.key': (tm, key) => tm.admin.discard('p', { key }),
  'completion.messageId': (tm, messageId) => tm.admin.completion('r', { messageId }),
  'reset, a messageId': (tm, messageId) => tm.admin.resetGroup('p', 'g', { messageId }),
  'start, a messageId': async (tm, messageId) => {
    await tm.reader('p', { group: 'new', from: { messageId } }).ready()
  },
  'a topic': (tm, topic) => tm.admin.describeTopic(topic),
  'a group': (tm, group) => tm.admin.pauseGroup('p', group),
  'a consumer': async (tm, consumer) => (await tm.pull('p', 'g', { consumer })).leaseMs,
  'a receipt': (tm, receipt) => tm.settle(receipt, { acks: 'all' }),
}

const WITH_TIMES: Record<string, Verb> = {
  'browse.since': async (tm, since) => (await tm.admin.browse('old', { since })).messages.length,
  'browse.until': async (tm, until) => (await tm.admin.browse('old', { until })).messages.length,
  'redrive.since': (tm, since) => tm.admin.redrive('p', { since }),
  'discard.until': (tm, until) => tm.admin.discard('p', { until }),
  'reset, a time': (tm, timestamp) => tm.admin.resetGroup('p', 'g', { timestamp }),
  'backfill, a time': async (tm, timestamp) =>
    (await tm.admin.startBackfill('r', 'g', { from: { timestamp } })).processed,
}

const WITH_NUMBERS: Record<string, Verb> = {
  'browse.after': async (tm, after) => (await tm.admin.browse('old', { after })).messages.length,
  'browse.before': async (tm, before) => (await tm.admin.browse('old', { before })).messages.length,
  'browse.limit': async (tm, limit) => (await tm.admin.browse('old', { limit })).messages.length,
  'completion.after': async (tm, after) => (await tm.admin.completion('r', { after })).length,
  'deadLetters.after': async (tm, after) => (await tm.admin.deadLetters('p', { after })).length,
  deadLetter: (tm, id) => tm.admin.deadLetter('p', id),
  'redrive.ids': (tm, id) => tm.admin.redrive('p', { ids: [id] }),
  'discard.ids': (tm, id) => tm.admin.discard('p', { ids: [id] }),
  'redrive.limit': (tm, limit) => tm.admin.redrive('p', { all: true, limit }),
  'completeOrphans.olderThan': (tm, olderThan) => tm.admin.completeOrphans('r', { olderThan }),
  'resetGroup.maxMessages': (tm, maxMessages) => tm.admin.resetGroup('p', 'g', 'now', { backfill: { maxMessages } }),
  'configureTopic.retention': async (tm, retention) => (await tm.configureTopic('x', { retention })).retentionMs,
  'configureTopic.zombieTtl': async (tm, zombieTtl) => (await tm.configureTopic('x', { zombieTtl })).zombieTtlMs,
  'configureTopic.maxAttempts': async (tm, maxAttempts) => (await tm.configureTopic('x', { maxAttempts })).maxAttempts,
  'health.stuckAfter': async (tm, stuckAfter) => (await tm.admin.health({ stuckAfter })).inconsistencies,
  'health.removable': async (tm, removable) => (await tm.admin.health({ removable })).inconsistencies,
  'pull.max': async (tm, max) => (await tm.pull('p', 'g', { max })).leaseMs,
  'pull.lease': async (tm, lease) => (await tm.pull('p', 'g', { lease })).leaseMs,
}

const answers = new Map<string, Map<string, unknown>>()

for (const store of SHARED_STORES) {
  it(`${store.name} answers whatever it is given`, async () => {
    await using database = await store.fresh()
    const tm = await database.open({ maintenance: false })
    await tm.configureTopic('x')
    for (const topic of ['p', 'old']) await tm.configureTopic(topic, { semantics: 'pub-sub' })
    await tm.configureTopic('r', { semantics: 'pub-sub', tracking: 'reference' })
    for (const topic of ['p', 'r', 'old']) {
      const reader = tm.reader(topic, { group: 'g', from: 'beginning' })
      await tm.publishBatch(topic, range(1, 3))
      await consume(reader, 3)
      await reader.close()
    }
    const kinds = [
      [WITH_TEXTS, TEXTS],
      [WITH_TIMES, TIMES],
      [WITH_NUMBERS, NUMBERS],
    ] as const
    for (const [verbs, values] of kinds) {
      for (const [name, verb] of Object.entries(verbs)) {
        for (const value of values) {
          const given = `${name}: ${JSON.stringify(value).slice(0, 40)} (${String(value).slice(0, 20)})`
          const answer = await verb(tm, value as never).catch((error: Error) => error)
          assert.ok(!(answer instanceof DatabaseError) && !(answer instanceof TypeError), `${given} → ${answer}`)
          const shown = answer instanceof Error ? `${answer.name}: ${answer.message}` : answer
          answers.set(given, (answers.get(given) ?? new Map()).set(store.name, simplified(shown)))
        }
      }
    }
  })
}

it('every store gives the same answers', () => {
  assert.ok(answers.size > 300)
  for (const [given, byStore] of answers) {
    const [first, ...others] = byStore.values()
    for (const other of others) assert.deepEqual(other, first, given)
  }
})

/** A reader is not compared, and ids of messages are each store's own. */
const simplified = (answer: unknown): unknown =>
  typeof answer === 'string' ? answer.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'id') : (JSON.stringify(answer) ?? '')

// Bitmaps are filled when the transactions that were open at the switch have ended.
for (const store of SECLUDED_STORES) {
  describe(`completion() after a switch, on ${store.name}`, () => {
    it('knows for every retained message which groups have processed it', async () => {
      await using database = await store.fresh()
      const tm = await database.open()
      await tm.configureTopic('events', { semantics: 'pub-sub', partitionRows: 10 })
      await tm.publishBatch('events', range(1, 3))
      const readers = ['done', 'half', 'none'].map(group => tm.reader('events', { group }))
      for (const reader of readers) await reader.ready()
      for (const n of range(4, 9)) await tm.publish('events', n)
      const [done, half] = readers
      assert.ok(done && half)
      await consume(done, 6)
      await consume(half, 3)
      await tm.admin.setTracking('events', 'reference' satisfies Tracking)
      await tm.publish('events', 10)
      const known = (await tm.admin.completion('events')).map(({ required, completed }) => [required, completed])
      const all = ['done', 'half', 'none']
      assert.deepEqual(known, [
        ...new Array(3).fill([[], []]),
        ...new Array(3).fill([all, ['done', 'half']]),
        ...new Array(3).fill([all, ['done']]),
        [all, []],
      ])
      assert.deepEqual((await tm.admin.health()).inconsistencies, [])
    })

    it('includes what everybody has processed', async () => {
      await using database = await store.fresh()
      const tm = await database.open()
      await tm.configureTopic('events', { semantics: 'pub-sub' })
      const reader = tm.reader('events', { group: 'g' })
      await reader.ready()
      await tm.publishBatch('events', range(1, 5))
      await consume(reader, 5)
      await tm.admin.setTracking('events', 'reference')
      const known = (await tm.admin.completion('events')).map(({ required, completed }) => [required, completed])
      assert.deepEqual(known, new Array(5).fill([['g'], ['g']]))
    })
  })
}

for (const store of SHARED_STORES) {
  describe(`namespaces with long names, on ${store.name}`, () => {
    it('are never shared, however similar they are', async () => {
      await using database = await store.fresh()
      const long = 'n'.repeat(128)
      // What the first is shortened to is another's whole name.
      const alike = schemaName(long).slice('tidemark_'.length).replace('#', '_')
      const names = [long, `${'n'.repeat(127)}m`, alike, 'n'.repeat(54), 'n'.repeat(55)]
      const opened: Tidemark[] = []
      for (const namespace of names) opened.push(await database.open({ namespace }))
      for (const [index, tm] of opened.entries()) await tm.publish('jobs', index)
      for (const [index, tm] of opened.entries()) {
        const { messages } = await tm.admin.browse('jobs')
        assert.deepEqual(
          messages.map(({ payload }) => payload),
          [`${index}`],
        )
      }
    })
  })
}

it('a name shortened for PostgreSQL contains a character that no namespace can', async () => {
  const schema = schemaName('n'.repeat(128))
  assert.ok(Buffer.byteLength(schema) <= 63)
  assert.match(schema, /#/)
  await assert.rejects(open('sqlite::memory:', { namespace: 'n#1' }), InvalidNameError)
})

it('a SQLite file whose name no file system takes is refused by name', async () => {
  const tooLong = open(`sqlite:/tmp/${'a'.repeat(120)}.db`, { namespace: 'n'.repeat(128) })
  await assert.rejects(tooLong, (error: Error) => error instanceof ConfigError && /247 bytes/.test(error.message))
})
