import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import Database from 'better-sqlite3'
import { sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/better-sqlite3'
import { int, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { Kysely, sql as kyselySql, SqliteDialect } from 'kysely'
import Libsql from 'libsql'
import { open, type Tidemark, TransactionError, type TransactionHandle } from 'tidemark'
import { betterSqlite3, libsql } from 'tidemark/drivers'
import { temporaryFolder } from '../../../../testing/databases.ts'

const stored = async (tm: Tidemark): Promise<unknown[]> =>
  (await tm.admin.browse('work')).messages.map(({ payload }) => JSON.parse(String(payload)))

const onBetterSqlite3 = (path: string): Promise<Tidemark> => open({ driver: betterSqlite3(Database, path) })

async function world(openAt = onBetterSqlite3) {
  const folder = temporaryFolder()
  const path = join(folder.path, 'app.db')
  const tm = await openAt(path)
  await tm.configureTopic('work')
  return {
    tm,
    path,
    folder: folder.path,
    async [Symbol.asyncDispose]() {
      await tm.close()
      folder[Symbol.dispose]()
    },
  }
}

const undone = new Error('undone on purpose')
const undo = (): never => {
  throw undone
}

describe('a transaction of better-sqlite3', () => {
  it('publishes if and only if it commits', async () => {
    await using w = await world()
    const db = new Database(w.path)
    db.exec('create table note (words text)')
    const note = db.prepare('insert into note values (?)')
    const publish = db.transaction((payload: string, end?: () => never) => {
      note.run(payload)
      w.tm.publishSync('work', payload, { tx: db, key: 'k', headers: { h: '1' }, messageId: payload })
      end?.()
    })
    publish.immediate('kept')
    assert.throws(() => publish.immediate('undone', undo), undone)
    // A nested one is a savepoint.
    const nested = db.transaction(() => {
      w.tm.publishSync('work', 'outer', { tx: db })
      assert.throws(() => publish('inner', undo), undone)
    })
    nested.immediate()
    // By hand, so that it can be awaited.
    for (const end of ['commit', 'rollback']) {
      db.exec('begin immediate')
      await w.tm.publish('work', end, { tx: db })
      await w.tm.publishBatch('work', [end, Uint8Array.of(0, 255).length], { tx: db })
      db.exec(end)
    }
    await assert.rejects(w.tm.publish('work', 'after it', { tx: db }), /no transaction open/)
    assert.throws(() => w.tm.publishSync('work', 'after it', { tx: db }), TransactionError)
    assert.deepEqual(await stored(w.tm), ['kept', 'outer', 'commit', 'commit', 2])
    assert.deepEqual(db.prepare('select words from note').pluck().all(), ['kept'])
    db.close()
    await assert.rejects(w.tm.publish('work', 'closed', { tx: db }), TransactionError)
  })

  it('may return bigints to its own statements', async () => {
    await using w = await world()
    const db = new Database(w.path).defaultSafeIntegers(true)
    db.exec('begin immediate')
    await w.tm.publish('work', 'big', { tx: db, messageId: 'm' })
    assert.equal((await w.tm.publish('work', 'again', { tx: db, messageId: 'm' })).duplicate, true)
    db.exec('commit')
    db.close()
    await using on = await world(path => open(`sqlite:${path}`))
    const sync = new DatabaseSync(on.path, { readBigInts: true, returnArrays: true } as object)
    sync.exec('begin immediate')
    await on.tm.publish('work', 'bigger', { tx: sync, messageId: 'm' })
    assert.equal((await on.tm.publish('work', 'again', { tx: sync, messageId: 'm' })).duplicate, true)
    sync.exec('commit')
    sync.close()
    assert.deepEqual([await stored(w.tm), await stored(on.tm)], [['big'], ['bigger']])
  })
})

describe('a transaction of libsql', () => {
  it('publishes if and only if it commits', async () => {
    await using w = await world(path => open({ driver: libsql(Libsql, path) }))
    const db = new Libsql(w.path)
    for (const end of ['commit', 'rollback']) {
      db.exec('begin immediate')
      await w.tm.publish('work', end, { tx: db, messageId: end })
      w.tm.publishSync('work', `${end} at once`, { tx: db })
      db.exec(end)
    }
    await assert.rejects(w.tm.publish('work', 'after it', { tx: db }), /no transaction open/)
    db.close()
    assert.deepEqual(await stored(w.tm), ['commit', 'commit at once'])
  })
})

describe('a transaction of Drizzle on SQLite', () => {
  it('publishes if and only if it commits', async () => {
    await using w = await world()
    const client = new Database(w.path)
    const db = drizzle(client)
    const note = sqliteTable('note', { id: int().primaryKey(), words: text().notNull() })
    db.run(sql`create table note (id integer primary key, words text not null)`)
    db.transaction(
      tx => {
        tx.insert(note).values({ words: 'kept' }).run()
        w.tm.publishSync('work', 'kept', { tx })
        const inner = (): void =>
          tx.transaction(nested => {
            w.tm.publishSync('work', 'undone', { tx: nested })
            undo()
          })
        assert.throws(inner, undone)
      },
      { behavior: 'immediate' },
    )
    const undoAll = (): void =>
      db.transaction(tx => {
        w.tm.publishSync('work', 'undone', { tx })
        undo()
      })
    assert.throws(undoAll, undone)
    assert.throws(() => w.tm.publishSync('work', 'outside', { tx: db }), TransactionError)
    assert.deepEqual(await stored(w.tm), ['kept'])
    assert.deepEqual(db.select({ words: note.words }).from(note).all(), [{ words: 'kept' }])
    client.close()
  })
})

describe('a transaction of Kysely on SQLite', () => {
  it('publishes through the database of its dialect, if and only if it commits', async () => {
    await using w = await world()
    const database = new Database(w.path)
    const db = new Kysely<{ note: { words: string } }>({ dialect: new SqliteDialect({ database }) })
    await kyselySql`create table note (words text)`.execute(db)
    for (const end of ['kept', 'undone']) {
      const work = db.transaction().execute(async trx => {
        await trx.insertInto('note').values({ words: end }).execute()
        await w.tm.publish('work', end, { tx: database })
        if (end === 'undone') undo()
      })
      await work.catch(error => assert.equal(error, undone))
    }
    await assert.rejects(w.tm.publish('work', 'outside', { tx: database }), TransactionError)
    const given = db.transaction().execute(async trx => {
      await assert.rejects(w.tm.publish('work', 'by its own object', { tx: trx }), /gave to its dialect/)
    })
    await given
    assert.deepEqual(await stored(w.tm), ['kept'])
    assert.deepEqual(await db.selectFrom('note').selectAll().execute(), [{ words: 'kept' }])
    await db.destroy()
  })
})

describe('an unusable tx on SQLite', () => {
  it('is refused, and nothing is stored', async () => {
    await using w = await world()
    await using other = await world()
    const begun = (db: Database.Database | DatabaseSync): TransactionHandle & Disposable => {
      db.exec('begin')
      return Object.assign(db, { [Symbol.dispose]: () => db.close() })
    }
    using elsewhere = begun(new Database(other.path))
    using memory = begun(new Database(':memory:'))
    using readOnly = begun(new Database(w.path, { readonly: true }))
    await using onNode = await world(path => open(`sqlite:${path}`))
    using readOnlySync = begun(new DatabaseSync(onNode.path, { readOnly: true }))
    using sync = begun(new DatabaseSync(':memory:'))
    const client = { query: async () => ({ rows: [] }) }
    const cases: [TransactionHandle, RegExp][] = [
      [elsewhere, /has .*app\.db open, not .*app\.db.*Open Tidemark on the file/],
      [memory, /a memory database/],
      [readOnly, /read-only/],
      [sync, /is of node:sqlite, and this Tidemark uses better-sqlite3.*corrupt/],
      [client, /not a transaction this store can use.*better-sqlite3/],
    ]
    for (const [tx, message] of cases) {
      await assert.rejects(w.tm.publish('work', 1, { tx }), (error: unknown) => {
        assert.ok(error instanceof TransactionError, String(error))
        assert.match(error.message, message)
        return true
      })
      assert.throws(() => w.tm.publishSync('work', 1, { tx }), TransactionError)
    }
    await assert.rejects(
      onNode.tm.publish('work', 1, { tx: memory }),
      /is of better-sqlite3, and this Tidemark uses node:sqlite/,
    )
    await assert.rejects(onNode.tm.publish('work', 1, { tx: readOnlySync }), /read-only/)
    const namespace = await open({ driver: betterSqlite3(Database, w.path) }, { namespace: 'other' })
    await namespace.configureTopic('work')
    using here = begun(new Database(w.path))
    await assert.rejects(namespace.publish('work', 1, { tx: here }), /with the same namespace/)
    await namespace.close()
    assert.deepEqual(await stored(w.tm), [])
  })
})
