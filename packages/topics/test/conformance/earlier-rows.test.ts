/**
 * Rows as a restore or an earlier version leaves them. These tests write to the tables of the engines: what they hold is how an
 * engine reads its own columns, and no hook of the conformance suites could say it for another.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { DatabaseRewoundError, type Events, GroupNotFoundError, type Tidemark } from 'tidemark'
import { until } from '../../../../testing/until.ts'
import { cleanerOf, DAY } from '../../src/conformance/cleaning.ts'
import { range } from '../../src/conformance/consuming.ts'
import { SECLUDED_STORES, SHARED_STORES, type Statement, type TestDatabase } from './stores.ts'

const TOPIC = 'events'

const FORGET_MOVES: Statement = {
  sqlite: 'update tidemark_subscription set moves = 0',
  postgres: 'update tidemark.subscription set moves = 0',
}
/** As if the transactions of the server, or ids where there are none, had been lost and the cursors had not. */
const AHEAD: Statement = {
  sqlite: 'update tidemark_subscription set cursor = cursor + 5',
  postgres: `update tidemark.subscription set window_to = (n || ':' || n || ':')::pg_snapshot
    from (select pg_snapshot_xmax(pg_current_snapshot())::text::bigint + 100000 as n) as x`,
}

for (const store of SHARED_STORES) {
  describe(`a database that went back, on ${store.name}`, () => {
    it('is noticed once by a group whose cursor moved back', async () => {
      await using database = await store.fresh()
      const { tm, told } = await opened(database)
      const { reader, held } = await publishAndHold(tm, 'a')
      await reader.ack(held)
      await database.execute(FORGET_MOVES)
      assert.equal(await reader.poll(1), null)
      assert.equal(await reader.poll(1), null)
      assert.deepEqual(told, [{ topic: TOPIC, group: 'a', sign: 'position' }])
    })

    it('claims nothing for a cursor that lies ahead of the transactions of its server, until it is repaired', async () => {
      await using database = await store.fresh()
      const { tm, told } = await opened(database)
      const seen: string[] = []
      const failures: Error[] = []
      tm.on('error', ({ error }) => void failures.push(error))
      const group = tm.consumerGroup<string>(TOPIC, 'a')
      await group.addConsumer('c', ({ payload }) => void seen.push(payload)).start({ from: 'beginning' })
      await tm.publish(TOPIC, 'before')
      await until(() => seen.length === 1, { what: 'the first message' })
      await database.execute(AHEAD)
      await tm.publish(TOPIC, 'after')
      await until(() => failures.length > 1, { what: 'the group to say so' })
      assert.ok(failures.every(error => error instanceof DatabaseRewoundError))
      assert.deepEqual(told, [{ topic: TOPIC, group: 'a', sign: 'cursor' }])
      assert.deepEqual(seen, ['before'])
      await tm.admin.resetGroup(TOPIC, 'a', 'beginning')
      await until(() => seen.length === 3, { what: 'the group to go on' })
      assert.deepEqual(seen, ['before', 'before', 'after'])
    })
  })

  describe(`a group without a name, on ${store.name}`, () => {
    it('can be used by every method, in a queue and elsewhere', async () => {
      await using database = await store.fresh()
      const tm = await database.open()
      await tm.configureTopic('jobs', { maxAttempts: 1 })
      await tm.publishBatch('jobs', range(1, 3))
      const reader = tm.reader('jobs')
      await (await reader.poll('10s'))?.nack('no')
      await reader.close()
      // As an earlier version left it behind.
      await database.execute({
        sqlite: `update tidemark_topic set config = json_set(config, '$.semantics', 'pub-sub'), config_version = 9`,
        postgres: `update tidemark.topic set semantics = 'pub-sub', config = config || '{"semantics": "pub-sub"}', config_version = 9`,
      })
      const { admin } = tm
      assert.equal((await admin.deadLetters('jobs', { group: '' })).length, 1)
      assert.equal((await admin.redrive('jobs', { group: '' })).redriven, 1)
      assert.deepEqual((await admin.claims('jobs', { group: '' })).claims, [])
      await admin.pauseGroup('jobs', '')
      await admin.resumeGroup('jobs', '')
      await admin.resetGroup('jobs', '', 'beginning')
      assert.deepEqual(await admin.acknowledgeLoss('jobs', ''), { acknowledged: 0 })
      assert.equal(await admin.backfill('jobs', ''), undefined)
      await admin.cancelGroup('jobs', '')
      await admin.removeGroup('jobs', '')
      assert.deepEqual(await admin.groups('jobs'), [])
      await assert.rejects(admin.pauseGroup('jobs', ''), GroupNotFoundError)
    })
  })
}

for (const store of SECLUDED_STORES) {
  describe(`retention 'forever' on ${store.name}`, () => {
    it('holds for a topic stored with a cap before caps followed the retention', async () => {
      await using database = await store.fresh()
      await using cleaner = await cleanerOf(database)
      const tm = await database.open()
      await tm.configureTopic('events', { semantics: 'pub-sub', retention: 'forever', partitionRows: 10 })
      await tm.publishBatch('events', range(1, 35))
      await database.execute({
        sqlite: `update tidemark_topic set config = json_remove(json_set(config, '$.maxRetentionMs', 1000), '$.given')`,
        postgres: `update tidemark.topic set config = (config || '{"maxRetentionMs": 1000}') - 'given'`,
      })
      await cleaner.age('events', 4_000 * DAY)
      assert.deepEqual(await cleaner.run(), { removed: 0, lost: 0 })
      assert.equal((await tm.admin.topics())[0]?.config.maxRetentionMs, null)
      await tm.configureTopic('events', { maxAttempts: 7 })
    })
  })
}

async function opened(database: TestDatabase) {
  const tm = await database.open({ maintenance: false })
  await tm.configureTopic(TOPIC, { semantics: 'pub-sub' })
  const told: Events['database-rewound'][] = []
  tm.on('database-rewound', event => void told.push(event))
  return { tm, told }
}

async function publishAndHold(tm: Tidemark, group: string) {
  const reader = await tm.reader<string>(TOPIC, { group, from: 'beginning', batchSize: 1 }).ready()
  await tm.publish(TOPIC, `for ${group}`)
  return { reader, held: await reader.receive() }
}
