/** A program whose user may not create anything: the rights are those that docs/guides/operating.md says. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import pg from 'pg'
import { DatabaseVersionError, diagnose, migrate, migrationSql, open, type Tidemark } from 'tidemark'
import { freshDatabase } from '../../../../testing/databases.ts'
import { until } from '../../../../testing/until.ts'
import { executePostgres as execute, SILENT } from '../conformance/stores.ts'
import { functionsSchema } from './functions-schema.ts'

const docs = readFileSync(new URL('../../../../docs/guides/operating.md', import.meta.url), 'utf8')
const chapter = docs.slice(docs.indexOf('### your program has no right to create tables'))
const [PREPARE = '', EXISTING = ''] = [...chapter.matchAll(/```sql\n(.*?)```/gs)].map(([, sql]) => sql ?? '')

type World = AsyncDisposable & { readonly ownerUrl: string; readonly appUrl: string; grant(sql: string): Promise<void> }

/** A database, its owner, and a user who may only connect. */
async function world(): Promise<World> {
  const database = await freshDatabase()
  const [owner, app] = ['owner', 'app'].map(name => `${name}_${randomBytes(6).toString('hex')}`) as [string, string]
  for (const role of [owner, app]) await execute(database.url, `create role ${role} login`)
  await execute(database.url, `grant create on database ${database.name} to ${owner}`)
  const as = (user: string): string => {
    const url = new URL(database.url)
    url.username = user
    return url.href
  }
  return {
    ownerUrl: as(owner),
    appUrl: as(app),
    grant: async sql => void (await execute(as(owner), sql.replaceAll(' to app', ` to ${app}`))),
    [Symbol.asyncDispose]: async () => {
      const server = new URL(database.url)
      server.pathname = 'postgres'
      await database.drop()
      await execute(server.href, `drop role ${owner}; drop role ${app}`)
    },
  }
}

const quiet = { logger: SILENT, maintenance: false } as const

async function drain(tm: Tidemark, topic: string, group: string, count: number): Promise<unknown[]> {
  await using reader = tm.reader(topic, { group, from: 'beginning' })
  const seen: unknown[] = []
  while (seen.length < count) {
    const delivery = await reader.poll(10_000)
    if (delivery === null) break
    seen.push(delivery.payload)
    await reader.ack(delivery)
  }
  return seen
}

describe('a user without the right to create tables', () => {
  it('is told what to run, and can do everything after the printed SQL was run', async () => {
    await using w = await world()
    await assert.rejects(open(w.appUrl, quiet), (error: unknown) => {
      assert.ok(error instanceof DatabaseVersionError)
      assert.match(error.message, /may not create it.*tidemark migrate.*--sql/s)
      return true
    })
    await w.grant(PREPARE)
    const sql = await migrationSql(w.ownerUrl)
    await execute(w.ownerUrl, sql)
    assert.equal(await migrationSql(w.ownerUrl), '')
    {
      await using owner = await open(w.ownerUrl, quiet)
      await owner.configureTopic('orders', { semantics: 'pub-sub', tracking: 'reference', maxAttempts: 1 })
      await owner.configureTopic('work', { backoff: { initial: 0 } })
    }

    await using tm = await open(w.appUrl, quiet)
    await tm.publishBatch('orders', [1, 2, 3])
    assert.deepEqual(await drain(tm, 'orders', 'email', 3), [1, 2, 3])
    await tm.publish('orders', 4, { messageId: 'four', key: 'k' })
    assert.deepEqual(await drain(tm, 'orders', 'audit', 4), [1, 2, 3, 4])
    assert.deepEqual(await drain(tm, 'orders', 'email', 1), [4])

    await using reader = tm.reader('orders', { group: 'email' })
    await tm.publish('orders', 5)
    await (await reader.receive()).nack(new Error('no'))
    const isBuried = async () => (await tm.admin.deadLetters('orders')).length === 1
    await until(isBuried, { what: 'the dead letter' })
    const [letter] = await tm.admin.deadLetters('orders')
    assert.equal((await tm.admin.redrive('orders', { ids: [letter?.id ?? 0] })).redriven, 1)
    for (const job of ['dead-groups', 'subscriptions', 'backfills'] as const) await tm.admin.jobs[job].runOnce()
    assert.ok((await tm.admin.stats()).topics.orders)
    assert.equal((await tm.admin.health()).inconsistencies.length, 0)
    await tm.admin.resetGroup('orders', 'audit', 'beginning')
    assert.equal((await drain(tm, 'orders', 'audit', 5)).length, 5)
    await tm.publish('work', 1)
    assert.equal((await tm.reader('work').poll(0))?.payload, 1)
    const findings = await diagnose(w.appUrl)
    assert.deepEqual(
      findings.filter(({ state }) => state === 'bad'),
      [],
    )
  })

  it('gets the functions of a new version with its existing rights', async () => {
    await using w = await world()
    await migrate(w.ownerUrl)
    await w.grant(PREPARE.replace('create schema tidemark;', '') + EXISTING)
    assert.match(await migrationSql(w.ownerUrl), /grant usage on schema/)
    await migrate(w.ownerUrl)
    await (await open(w.appUrl, quiet)).close()
    await execute(w.ownerUrl, `drop schema ${functionsSchema()} cascade`)
    await assert.rejects(open(w.appUrl, quiet), DatabaseVersionError)
    await migrate(w.ownerUrl)
    await (await open(w.appUrl, quiet)).close()
  })

  it('publishes into partitions created ahead, and health reports in time that they expire', async () => {
    await using w = await world()
    await w.grant(PREPARE)
    await using owner = await open(w.ownerUrl, quiet)
    await owner.configureTopic('work', { partitionRows: 10 })
    await using tm = await open(w.appUrl, quiet)
    const partitions = async () => (await tm.admin.health()).partitions
    await tm.publishBatch(
      'work',
      Array.from({ length: 14 }, (_, n) => n),
    )
    assert.deepEqual(await partitions(), [])
    await tm.publishBatch('work', [14, 15])
    assert.deepEqual(await partitions(), [{ topic: 'work', room: 3 }])
    assert.match((await diagnose(w.appUrl)).find(({ check }) => check === 'partitions')?.found ?? '', /3 more messages/)
    await tm.publish('work', 16)
    await assert.rejects(tm.publishBatch('work', [17, 18, 19]), /no partition for new messages.*tidemark migrate/s)

    assert.match(await migrationSql(w.ownerUrl), /make_partitions_ahead/)
    await migrate(w.ownerUrl)
    assert.equal(await migrationSql(w.ownerUrl), '')
    await tm.publishBatch(
      'work',
      Array.from({ length: 18 }, (_, n) => n),
    )
    await owner.admin.jobs.messages.runOnce()
    assert.deepEqual(await partitions(), [])
    await tm.publishBatch(
      'work',
      Array.from({ length: 18 }, (_, n) => n),
    )

    const client = new pg.Client({ connectionString: w.appUrl })
    await client.connect()
    try {
      await client.query('begin')
      await tm.publish('work', 'in a transaction', { tx: client })
      await client.query('commit')
    } finally {
      await client.end()
    }
  })

  it('leaves the clean-up to a process whose user owns the tables', async () => {
    await using w = await world()
    await w.grant(PREPARE)
    await using owner = await open(w.ownerUrl, quiet)
    await owner.configureTopic('work', { partitionRows: 5 })
    await using tm = await open(w.appUrl, { logger: SILENT, maintenance: { cleanUpEvery: 5, detectEvery: 5 } })
    await until(
      async () => (await tm.admin.health()).jobs.some(({ name, runs }) => name === 'dead-groups' && runs > 0),
      {
        what: 'a job that needs no rights',
      },
    )
    assert.deepEqual(
      (await tm.admin.health()).jobs.filter(({ name }) => name === 'messages'),
      [],
    )
    await assert.doesNotReject(owner.admin.jobs.messages.runOnce())
  })
})
