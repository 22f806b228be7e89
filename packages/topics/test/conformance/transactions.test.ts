import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import { Kysely, PostgresDialect } from 'kysely'
import { Client, Pool } from 'pg'
import postgres from 'postgres'
import { type Tidemark, TopicNotFoundError, TransactionError, type TransactionHandle } from 'tidemark'
import { temporaryFolder } from '../../../../testing/databases.ts'
import { consume, range, receive } from '../../src/conformance/consuming.ts'
import { beginClient, beginSqlite, LIBRARIES } from './open-transactions.ts'
import { SHARED_STORES, STORES, type TestDatabase } from './stores.ts'

for (const store of SHARED_STORES) {
  for (const [library, begin] of Object.entries(LIBRARIES[store.name] ?? {})) {
    describe(`${store.name}: a publish in ${library}`, () => {
      it('is visible to nobody before the commit, and to all after it', async () => {
        await using database = await store.fresh()
        const tm = await database.open()
        await tm.configureTopic('work')
        const reader = await tm.reader('work').ready()
        const { tx, end } = await begin(database)
        const ref = await tm.publish('work', { n: "it's" }, { tx, key: 'k', headers: { h: '\\' }, messageId: 'm' })
        const refs = await tm.publishBatch('work', [Uint8Array.of(0, 255), null], { tx })
        assert.equal(await reader.poll(0), null)
        await end('commit')
        const delivery = await receive(reader)
        assert.deepEqual(delivery.payload, { n: "it's" })
        assert.deepEqual([delivery.id, delivery.messageId, delivery.key], [ref.id, 'm', 'k'])
        assert.deepEqual(delivery.headers, { h: '\\' })
        assert.deepEqual(await consume(reader, 2), [Uint8Array.of(0, 255), null])
        assert.equal(refs.length, 2)
        assert.equal((await tm.publish('work', 1, { messageId: 'm' })).duplicate, true)
      })

      it('works with every publishing method, to several topics', async () => {
        await using database = await store.fresh()
        const tm = await database.open()
        for (const topic of ['work', 'mail']) await tm.configureTopic(topic)
        for (const how of ['rollback', 'commit'] as const) {
          const { tx, end } = await begin(database)
          await tm.publish('mail', `${how} 1`, { tx })
          const refs = await tm.publishMessages(
            'work',
            [
              { payload: `${how} 1`, key: 'k' },
              { payload: `${how} 2`, messageId: 'm', headers: { h: '1' } },
            ],
            { tx },
          )
          assert.deepEqual([refs.length, refs[1]?.messageId, refs[1]?.duplicate], [2, 'm', false])
          await tm.topic('work').publish(`${how} 3`, { tx })
          await tm.topic('work').publishBatch([`${how} 4`], { tx })
          await tm.topic('work').writer().send(`${how} 5`, { tx })
          await tm.writer('mail').send(`${how} 2`, { tx })
          await end(how)
        }
        const numbers = range(1, 5).map(n => `commit ${n}`)
        assert.deepEqual(await consume(tm.reader('work'), 5), numbers)
        assert.deepEqual(await consume(tm.reader('mail'), 2), numbers.slice(0, 2))
      })

      it('creates a missing topic, without waiting for anybody', async () => {
        await using database = await store.fresh()
        const tm = await database.open()
        const { tx, end } = await begin(database)
        await tm.publish('new', 1, { tx })
        await tm.publish('new', 2, { tx })
        await tm.publishBatch('newer', [3, 4], { tx })
        await end('commit')
        assert.deepEqual(await consume(tm.reader('new'), 2), [1, 2])
        assert.deepEqual(await consume(tm.reader('newer'), 2), [3, 4])
      })

      it('leaves no trace of such a topic when it is rolled back', async () => {
        await using database = await store.fresh()
        const tm = await database.open()
        const { tx, end } = await begin(database)
        await tm.publish('new', 'undone', { tx })
        await end('rollback')
        const again = await begin(database)
        await tm.publish('other', 'of another topic', { tx: again.tx })
        await again.end('commit')
        await tm.publish('new', 'done')
        assert.deepEqual(await consume(tm.reader('new'), 1), ['done'])
        assert.deepEqual(await consume(tm.reader('other'), 1), ['of another topic'])
      })

      it('creates no topic unless requested', async () => {
        await using database = await store.fresh()
        const tm = await database.open({ autoCreate: false })
        const { tx, end } = await begin(database)
        await assert.rejects(tm.publish('new', 1, { tx }), TopicNotFoundError)
        await end('rollback')
      })

      it('wakes waiting consumers, here and in another instance, without their sweep', async () => {
        await using database = await store.fresh()
        const [here, there] = await Promise.all([1, 2].map(() => database.open({ sweepInterval: '1h' })))
        assert.ok(here && there)
        await here.configureTopic('work', { semantics: 'pub-sub' })
        const readers = [here.reader('work', { group: 'here' }), there.reader('work', { group: 'there' })]
        await Promise.all(readers.map(reader => reader.ready()))
        const received = readers.map(reader => reader.receive())
        const { tx, end } = await begin(database)
        await here.publish('work', 'news', { tx })
        await end('commit')
        for (const delivery of await Promise.all(received)) assert.equal(delivery.payload, 'news')
      })

      it('is undone by a rollback', async () => {
        await using database = await store.fresh()
        const tm = await database.open()
        await tm.configureTopic('work')
        const { tx, end } = await begin(database)
        await tm.publish('work', 'undone', { tx, messageId: 'm' })
        await end('rollback')
        const reader = tm.reader('work')
        assert.equal(await reader.poll(0), null)
        assert.equal((await tm.publish('work', 'done', { messageId: 'm' })).duplicate, false)
        assert.deepEqual(await consume(reader, 1), ['done'])
      })
    })
  }
}

for (const store of STORES) {
  describe(store.name, () => {
    describe('an invalid tx', () => {
      for (const [what, tx] of Object.entries({
        null: null,
        'a text': 'begin',
        'an empty object': {},
        'a function': () => {},
        'a query that returns nothing': { query: async () => undefined },
      })) {
        it(`is refused: ${what}`, async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('work')
          const wrong = tx as unknown as TransactionHandle
          await assert.rejects(tm.publish('work', 1, { tx: wrong }), TransactionError)
          await assert.rejects(tm.publishBatch('work', [1], { tx: wrong }), TransactionError)
          assert.equal(await tm.reader('work').poll(0), null)
        })
      }

      it('is refused: a transaction of another engine', async () => {
        await using database = await store.fresh()
        const tm = await database.open()
        await tm.configureTopic('work')
        using db = new DatabaseSync(':memory:')
        db.exec('begin')
        await assert.rejects(tm.publish('work', 1, { tx: db }), TransactionError)
      })
    })
  })
}

describe('SQLite', () => {
  it('refuses a DatabaseSync without an open transaction, or of another file, or closed', async () => {
    const [sqlite] = SHARED_STORES
    assert.ok(sqlite)
    await using database = await sqlite.fresh()
    using folder = temporaryFolder()
    const tm = await database.open()
    await tm.configureTopic('work')
    using idle = new DatabaseSync(database.url.slice('sqlite:'.length))
    await assert.rejects(tm.publish('work', 1, { tx: idle }), /begin immediate/)
    await assert.rejects(tm.publish('work', 1, { tx: idle }), TransactionError)
    using other = new DatabaseSync(join(folder.path, 'other.db'))
    other.exec('begin')
    await assert.rejects(tm.publish('work', 1, { tx: other }), TransactionError)
    const closed = new DatabaseSync(database.url.slice('sqlite:'.length))
    closed.close()
    await assert.rejects(tm.publish('work', 1, { tx: closed }), TransactionError)
    assert.equal(await tm.reader('work').poll(0), null)
  })
})

describe('PostgreSQL', () => {
  const refused: Record<string, (url: string, publish: (tx: TransactionHandle) => Promise<unknown>) => Promise<void>> =
    {
      'a Client without an open transaction': async (url, publish) => {
        const client = new Client({ connectionString: url })
        await client.connect()
        await assert.rejects(publish(client), TransactionError).finally(() => client.end())
      },
      'a Pool': async (url, publish) => {
        const pool = new Pool({ connectionString: url })
        await assert.rejects(publish(pool), TransactionError).finally(() => pool.end())
      },
      'postgres.js outside begin()': async (url, publish) => {
        const sql = postgres(url, { onnotice: () => {} })
        await assert.rejects(publish(sql), TransactionError).finally(() => sql.end())
      },
      'Kysely outside a transaction': async (url, publish) => {
        const kysely = new Kysely({ dialect: new PostgresDialect({ pool: new Pool({ connectionString: url }) }) })
        await assert.rejects(publish(kysely), TransactionError).finally(() => kysely.destroy())
      },
    }
  const [, postgresStore] = SHARED_STORES
  for (const [what, check] of Object.entries(refused)) {
    it(`refuses ${what}`, async () => {
      assert.ok(postgresStore)
      await using database = await postgresStore.fresh()
      const tm = await database.open()
      await tm.configureTopic('work')
      await check(database.url, tx => tm.publish('work', 1, { tx }))
      assert.equal(await tm.reader('work').poll(0), null)
    })
  }

  for (const what of ['another database', 'another database that has the topic too']) {
    it(`refuses the transaction of ${what}`, async () => {
      assert.ok(postgresStore)
      await using database = await postgresStore.fresh()
      await using other = await postgresStore.fresh()
      const tm = await database.open()
      await tm.configureTopic('work')
      if (what.includes('topic')) await (await other.open()).configureTopic('work')
      const { tx, end } = await beginClient(other)
      await assert.rejects(tm.publish('work', 1, { tx }), TransactionError).finally(() => end('rollback'))
    })
  }

  it('leaves the caller’s transaction usable, with many messages in it', async () => {
    assert.ok(postgresStore)
    await using database = await postgresStore.fresh()
    const tm: Tidemark = await database.open()
    await tm.configureTopic('work', { partitionRows: 10 })
    const { tx, end } = await beginClient(database)
    for (const number of range(1, 35)) await tm.publish('work', number, { tx })
    await (tx as Client).query('create table note (words text)')
    await end('commit')
    assert.deepEqual(await consume(tm.reader('work', { batchSize: 100 }), 35), range(1, 35))
  })
})

describe('SQLite: while a transaction passed to publish is open', () => {
  const calls: Record<string, (tm: Tidemark) => Promise<unknown>> = {
    configureTopic: tm => tm.configureTopic('other'),
    'the first subscription': tm => tm.reader('work', { group: 'g' }).ready(),
    'switching the tracking': tm => tm.admin.setTracking('work', 'reference'),
    deleteTopic: tm => tm.admin.deleteTopic('work'),
  }
  for (const [name, call] of Object.entries(calls)) {
    it(`${name} reports it, and does not deadlock`, async () => {
      await using database = await sqliteDatabase()
      const tm = await database.open({ busyTimeout: '1h' })
      await tm.configureTopic('work', { semantics: 'pub-sub' })
      const { tx, end } = await beginSqlite(database)
      await tm.publish('work', 1, { tx })
      await assert.rejects(call(tm), (error: unknown) => {
        assert.ok(error instanceof TransactionError)
        assert.match(error.message, /Commit it or roll it back/)
        return true
      })
      await end('commit')
      await call(tm)
    })
  }

  it('a call that is not awaited is done after it', async () => {
    await using database = await sqliteDatabase()
    const tm = await database.open()
    await tm.configureTopic('work')
    const { tx, end } = await beginSqlite(database)
    await tm.publish('work', 1, { tx })
    const configured = tm.configureTopic('other')
    await end('commit')
    await configured
  })
})

async function sqliteDatabase(): Promise<TestDatabase> {
  const [sqlite] = SHARED_STORES.filter(({ name }) => name === 'SQLite')
  assert.ok(sqlite)
  return await sqlite.fresh()
}
