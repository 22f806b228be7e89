/**
 * What the tables of the engines hold, and what happens when a part of them is missing. These tests read and change tables: that
 * no row is left behind, or that a table of the application stays, shows nowhere else.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { until } from '../../../../testing/until.ts'
import { cleanerOf, DAY, KEPT_A_DAY } from '../../src/conformance/cleaning.ts'
import { collect, eventsOf, groupOf, payloadsOf, range, receive } from '../../src/conformance/consuming.ts'
import { letDie } from '../../src/conformance/dying.ts'
import { openStore } from '../../src/conformance/open-store.ts'
import { Work } from '../../src/conformance/reference.ts'
import { SECLUDED_STORES, SHARED_STORES, type TestDatabase } from './stores.ts'

const OFTEN = { heartbeat: { interval: 20 } } as const

for (const store of SHARED_STORES) {
  describe(`the tables on ${store.name}`, () => {
    it('include a log per topic', async () => {
      await using database = await store.fresh()
      const tm = await database.open()
      for (const topic of ['orders', 'users']) await tm.configureTopic(topic)
      const tables = await database.execute({
        sqlite: "select name from sqlite_schema where name like 'tidemark_log_%' and type = 'table'",
        postgres: "select relname as name from pg_class where relname ~ '^log_[0-9]+$' and relkind = 'p'",
      })
      assert.equal(tables.length, 2)
    })

    it('keep no lease and no retry of a removed group', async () => {
      await using database = await store.fresh()
      const tm = await database.open({ maintenance: false })
      await tm.configureTopic('events', { semantics: 'pub-sub' })
      const gone = await tm.reader('events', { group: 'gone', batchSize: 1 }).ready()
      await tm.publishBatch('events', [1, 2])
      await (await receive(gone)).nack('later', { delay: '1h' })
      await receive(gone)
      await letDie(tm, database)
      await database.ageGroups(30 * DAY)
      assert.equal((await tm.admin.jobs.subscriptions.runOnce()).removed, 1)
      for (const table of ['lease', 'retry']) {
        const left = await database.execute({
          sqlite: `select * from tidemark_${table}`,
          postgres: `select * from tidemark.${table}`,
        })
        assert.deepEqual(left, [], table)
      }
    })

    it('are dropped without what the application itself keeps in the database', async () => {
      await using database = await store.fresh()
      const tm = await database.open()
      await tm.publish('batches', 1)
      await database.execute({ sqlite: 'create table orders (id int)', postgres: 'create table orders (id int)' })
      await tm.dropNamespace()
      const left = await database.execute({
        // SQLite keeps a table of its own for ids that are never used again.
        sqlite: `select name from sqlite_schema where type = 'table' and name <> 'sqlite_sequence'`,
        postgres: `select tablename as name from pg_tables where schemaname not in ('pg_catalog', 'information_schema')`,
      })
      assert.deepEqual(
        left.map(({ name }) => name),
        ['orders'],
      )
    })

    it('are not created again when the database is opened again', async () => {
      await using database = await store.fresh()
      await (await database.open()).close()
      const before = await migrations(database)
      assert.ok(before.length > 0)
      await (await database.open()).close()
      assert.deepEqual(await migrations(database), before)
    })

    it('drop consumers without a heartbeat within the timeout', async () => {
      await using database = await store.fresh()
      const tm = await database.open()
      await tm.configureTopic('events', { semantics: 'pub-sub' })
      const group = tm.consumerGroup('events', 'g')
      group.addConsumer('c', () => undefined)
      await group.start(OFTEN)
      await until(async () => (await rows(database)) === 2, { what: 'the report' })
      await ghost(database)
      assert.equal((await tm.admin.consumers('events')).length, 1)
      await until(async () => (await rows(database)) === 2, { what: 'the ghost to go' })
      await group.stop()
      assert.equal(await rows(database), 0)
    })

    it('that are missing fail a job, which reports it and runs again', async () => {
      await using database = await store.fresh()
      const tm = await database.open()
      const ended = eventsOf(tm, 'job-ended')
      const rename = (from: string, to: string) =>
        database.execute({
          sqlite: `alter table tidemark_${from} rename to tidemark_${to}`,
          postgres: `alter table tidemark.${from} rename to ${to}`,
        })
      await rename('bit_wipe', 'bit_wipe_away')
      await rename('topic', 'topic_away')
      await assert.rejects(tm.admin.jobs['dead-groups'].runOnce())
      await rename('topic_away', 'topic')
      await rename('bit_wipe_away', 'bit_wipe')
      assert.ok(ended[0]?.error)
      assert.equal((await tm.admin.jobs['dead-groups'].runOnce()).dead, 0)
      assert.equal(ended[1]?.error, undefined)
      const { jobsRun, jobsFailed } = tm.metrics().totals
      assert.deepEqual([jobsRun, jobsFailed], [2, 1])
    })

    it('a dead letter is not redriven with another message that has its id now', async () => {
      await using database = await store.fresh()
      const tm = await database.open()
      await tm.configureTopic('work', { maxAttempts: 1 })
      await tm.publish('work', 'buried')
      await (await receive(tm.reader('work'))).nack('no')
      // As after a restore, where the ids of lost messages are used again: only the salt tells them apart.
      await database.execute({
        sqlite: 'update tidemark_log_1 set salt = salt + 1',
        postgres: 'update tidemark.log_1 set salt = salt + 1',
      })
      assert.deepEqual(await tm.admin.redrive('work', { all: true }), { redriven: 0, gone: 1, orphaned: 0 })
    })

    it('a settlement that the database refuses does not affect others, and is retried', async () => {
      await using database = await store.fresh()
      const tm = await database.open()
      for (const topic of ['bad', 'innocent', 'other']) {
        await tm.configureTopic(topic, { maxAttempts: 3, backoff: { initial: 1, max: 1 } })
      }
      await refusePoison(database)
      const seen: number[] = []
      const bad = tm.consumerGroup<number>('bad', undefined, { batchSize: 50 })
      bad.addConsumer('a', async ({ payload, attempt }) => {
        seen.push(payload)
        if (payload % 10 === 0 && attempt === 1) throw new Error(payload === 20 ? 'poison' : 'harmless')
      })
      const others = ['innocent', 'other'].map(topic => tm.consumerGroup<number>(topic))
      const deliveries = others.map(group => collect(group))
      await Promise.all([bad, ...others].map(group => group.start()))
      for (const topic of ['bad', 'innocent', 'other']) await tm.publishBatch(topic, range(1, 50))
      const unsettled = async (topic: string) => (await groupOf(tm, topic)).inFlight
      // 50 of each of the two, and all of the bad topic but the one.
      await until(() => tm.metrics().totals.acked === 149, { what: 'every ack but one' })
      await until(async () => (await unsettled('bad')) === 1, { what: 'all but the poison to be settled' })
      assert.deepEqual([await unsettled('innocent'), await unsettled('other')], [0, 0])
      assert.deepEqual(deliveries.map(payloadsOf), [range(1, 50), range(1, 50)])
      await tm.publish('innocent', 51)
      await until(() => tm.metrics().totals.acked === 150, { what: 'the next message' })
      await acceptPoison(database)
      await until(() => tm.metrics().totals.acked === 151, { what: 'the last one to be tried again' })
      assert.equal(seen.filter(payload => payload === 20).length, 2)
      assert.equal((await tm.admin.deadLetters('bad')).length, 0)
      assert.ok(bad.running)
    })
  })
}

for (const store of SECLUDED_STORES) {
  describe(`the tables on ${store.name}`, () => {
    it('damaged in one topic do not keep the others from being cleaned up', async () => {
      await using database = await store.fresh()
      await using cleaner = await cleanerOf(database)
      const tm = await database.open()
      for (const topic of ['broken', 'sound']) {
        await tm.configureTopic(topic, KEPT_A_DAY)
        await tm.publishBatch(topic, range(1, 30))
        await cleaner.age(topic, 2 * DAY)
      }
      const { id } = await cleaner.topic('broken')
      await database.execute({
        sqlite: `alter table tidemark_log_${id} rename to hidden`,
        postgres: `alter sequence tidemark.log_${id}_id rename to hidden`,
      })
      const failed: string[] = []
      cleaner.instrumentation.on('error', ({ topic, action }) => failed.push(`${action} ${topic}`))
      await until(
        async () => {
          await cleaner.runOnce().catch(() => {})
          return (await cleaner.kept('sound')).length === 0
        },
        { what: 'the sound topic to be cleaned' },
      )
      assert.ok(failed.length > 0 && failed.every(each => each === 'clean up broken'))
    })

    it('show with SQL who has processed what, with counts', async () => {
      await using database = await store.fresh()
      await using direct = await openStore(database)
      const work = await Work.on(direct)
      await work.subscribe('a')
      await work.subscribe('b')
      await work.publish(1)
      await work.drain('b')
      const id = work.topic.id
      const rows = await database.execute({
        sqlite: `select group_name, required, completed from tidemark_completion_${id} order by group_name`,
        postgres: `select group_name, required::int, completed::int from tidemark.completion_${id} order by group_name`,
      })
      assert.deepEqual(
        rows.map(row => ({ ...row })),
        [
          { group_name: 'a', required: 1, completed: 0 },
          { group_name: 'b', required: 1, completed: 1 },
        ],
      )
      const [counts] = await database.execute({
        sqlite: `select required, completed, done from tidemark_completion_counts_${id}`,
        postgres: `select required::int, completed::int, done::int from tidemark.completion_counts_${id}`,
      })
      assert.deepEqual({ ...counts }, { required: 2, completed: 1, done: 0 })
    })
  })
}

const migrations = async (database: TestDatabase) =>
  await database.execute({
    sqlite: 'select version, applied_at from tidemark_migration order by version',
    postgres: 'select version, applied_at from tidemark.migration order by version',
  })

async function rows(database: TestDatabase): Promise<number> {
  const [row] = await database.execute({
    sqlite: 'select count(*) as count from tidemark_consumer',
    postgres: 'select count(*)::int as count from tidemark.consumer',
  })
  return Number(row?.count)
}

/** As if a process that was killed long ago had left its consumer. */
async function ghost(database: TestDatabase): Promise<void> {
  const columns =
    'subscription_id, instance, consumer, started_at, reported_at, active_at, processed, failed, claims, claim_conflicts, handler'
  await database.execute({
    sqlite: `
      insert into tidemark_consumer (${columns})
      select subscription_id, 'ghost', 'ghost', 1, 1, null, 0, 0, 0, 0, '{"max":0,"buckets":[]}' from tidemark_consumer limit 1`,
    postgres: `
      insert into tidemark.consumer (${columns})
      select subscription_id, 'ghost', 'ghost', 'epoch', 'epoch', null, 0, 0, 0, 0, '{"max":0,"buckets":[]}'
      from tidemark.consumer limit 1`,
  })
}

/** The database cannot store what failed with this word. */
async function refusePoison(database: TestDatabase): Promise<void> {
  await database.execute({
    sqlite: `create trigger poison before insert on tidemark_retry when new.history like '%poison%'
      begin select raise(abort, 'it cannot be stored'); end`,
    postgres: `
      create function tidemark.refuse() returns trigger language plpgsql as $$
      begin
        if new::text like '%poison%' then raise exception 'it cannot be stored'; end if;
        return new;
      end $$;
      create trigger poison before insert on tidemark.retry for each row execute function tidemark.refuse()`,
  })
}

async function acceptPoison(database: TestDatabase): Promise<void> {
  await database.execute({ sqlite: 'drop trigger poison', postgres: 'drop trigger poison on tidemark.retry' })
}
