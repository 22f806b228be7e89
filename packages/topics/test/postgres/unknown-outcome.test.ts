import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Client } from 'pg'
import { DatabaseUnreachableError, OutcomeUnknownError, open, type Reader, type Tidemark } from 'tidemark'
import { freshDatabase, migratedDatabase } from '../../../../testing/databases.ts'
import { until } from '../../../../testing/until.ts'
import { range, receive } from '../../src/conformance/consuming.ts'
import { SILENT } from '../conformance/stores.ts'
import { Network } from './network.ts'

it('a publish whose answer is lost is reported as unknown, and is not stored twice', async () => {
  const { url, drop } = await freshDatabase()
  const holder = new Client({ connectionString: url })
  await holder.connect()
  const counted = async (sql: string): Promise<number> => Number((await holder.query(sql)).rows[0]?.count)
  try {
    await using network = await Network.to(url)
    await using tm = await open(network.url, { logger: SILENT, maintenance: false })
    await tm.publish('work', 0)
    await holder.query('begin')
    await holder.query('lock table tidemark.log_1 in exclusive mode')
    const publishes = Promise.allSettled(range(1, 10).map(number => tm.publish('work', number)))
    const waiting = 'select count(*) from pg_locks where not granted'
    await until(async () => (await counted(waiting)) > 0, { what: 'the publish to arrive' })
    network.cut()
    await holder.query('rollback')
    const stored = 'select count(*) from tidemark.log_1'
    await until(async () => (await counted(stored)) === 11, { what: 'the publish to be stored' })
    network.heal()
    for (const outcome of await publishes) {
      assert.ok(outcome.status === 'rejected' && outcome.reason instanceof OutcomeUnknownError)
      assert.match(outcome.reason.message, /may or may not be stored/)
    }
    await tm.publish('work', 11)
    assert.equal(await counted(stored), 12)
  } finally {
    await holder.end()
    await drop()
  }
})

type Bench = { readonly tm: Tidemark; readonly reader: Reader<number> }

type Write = { readonly to: RegExp; readonly after?: RegExp; readonly call: (bench: Bench) => Promise<unknown> }

/** Each is carried out by the server before its answer is lost. */
const WRITES: Record<string, Write> = {
  publish: { to: /tidemark_publish/, call: ({ tm }) => tm.publish('work', 1) },
  'publish with a messageId': { to: /dedupe/, call: ({ tm }) => tm.publish('work', 1, { messageId: 'one' }) },
  publishBatch: { to: /tidemark_publish/, call: ({ tm }) => tm.publishBatch('work', [1, 2]) },
  configureTopic: {
    ...{ to: /commit/, after: /set config =/ },
    call: ({ tm }) => tm.configureTopic('work', { semantics: 'pub-sub', retention: '2h' }),
  },
  pauseGroup: { to: /commit/, after: /set status =/, call: ({ tm }) => tm.admin.pauseGroup('work', 'g') },
  resetGroup: { to: /commit/, after: /reset_cursor/, call: ({ tm }) => tm.admin.resetGroup('work', 'g', 'beginning') },
  redrive: { to: /commit/, after: /redrive/, call: ({ tm }) => tm.admin.redrive('work', { group: 'g' }) },
  discard: { to: /commit/, after: /delete/, call: ({ tm }) => tm.admin.discard('work', { group: 'g' }) },
  setTracking: { to: /commit/, after: /track_by_ref/, call: ({ tm }) => tm.admin.setTracking('work', 'reference') },
  extend: { to: /tidemark_extend/, call: async ({ reader }) => (await receive(reader)).extend('1m') },
}

describe('a call whose answer is lost', () => {
  for (const [name, { call, ...lost }] of Object.entries(WRITES)) {
    it(`has an unknown outcome: ${name}`, async () => {
      await using database = await migratedDatabase()
      await using network = await Network.to(database.url)
      await using tm = await open(network.url, { logger: SILENT, maintenance: false })
      await tm.configureTopic('work', { semantics: 'pub-sub' })
      await using reader = await tm.reader<number>('work', { group: 'g', from: 'beginning' }).ready()
      await tm.publish('work', 0)
      network.lostAnswers = { ...lost, count: 1 }
      await assert.rejects(call({ tm, reader }), OutcomeUnknownError)
    })
  }

  it('is known if only a look-up was lost: a publish that found another configuration stored nothing', async () => {
    await using database = await migratedDatabase()
    await using network = await Network.to(database.url)
    await using tm = await open(network.url, { logger: SILENT, maintenance: false })
    await using other = await open(database.url, { logger: SILENT, maintenance: false })
    await tm.configureTopic('work')
    await tm.publish('work', 0)
    await other.configureTopic('work', { retention: '2h' })
    network.lostAnswers = { to: /from .*topic.* where id/s, count: 1 }
    await assert.rejects(tm.publish('work', 1), DatabaseUnreachableError)
    assert.deepEqual(
      (await other.admin.browse('work')).messages.map(({ payload }) => payload),
      ['0'],
    )
  })
})
