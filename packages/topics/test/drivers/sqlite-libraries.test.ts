/** SQLite through better-sqlite3 and libSQL: files, transactions of the program, and what the libraries differ in. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import Database from 'better-sqlite3'
import Libsql from 'libsql'
import { DatabaseVersionError, type Driver, diagnose, migrate, open, schemaVersions, TransactionError } from 'tidemark'
import { betterSqlite3, libsql, type SqliteDriver } from 'tidemark/drivers'
import { temporaryFolder } from '../../../../testing/databases.ts'
import { SILENT } from '../conformance/stores.ts'

const LIBRARIES = [
  {
    name: 'better-sqlite3',
    Library: Database,
    driverOf: (path: string) => betterSqlite3(Database, path),
    journal: 'wal',
  },
  { name: 'libsql', Library: Libsql, driverOf: (path: string) => libsql(Libsql, path), journal: 'delete' },
] as const

for (const { name, Library, driverOf, journal } of LIBRARIES) {
  describe(name, () => {
    it('keeps messages in the file, and each namespace in its own', async () => {
      using folder = temporaryFolder()
      const path = join(folder.path, 'app.db')
      const payloads = [1, 'two', null, { three: [3] }, new Uint8Array([0, 255])]
      await using first = await open({ driver: driverOf(path) }, { logger: SILENT })
      await first.publishBatch('work', payloads)
      await first.close()
      await using other = await open({ driver: driverOf(path) }, { namespace: 'other', logger: SILENT })
      assert.deepEqual(await other.admin.topics(), [])
      await using again = await open({ driver: driverOf(path) }, { logger: SILENT })
      const reader = again.reader('work')
      for (const payload of payloads) assert.deepEqual((await reader.receive()).payload, payload)
    })

    it(`has a ${journal} journal, and passes the integrity check`, async () => {
      using folder = temporaryFolder()
      const path = join(folder.path, 'app.db')
      const driver: Driver = driverOf(path)
      const { newest } = await migrate({ driver })
      assert.equal((await schemaVersions({ driver })).found, newest)
      const findings = await diagnose({ driver })
      assert.deepEqual(
        findings.filter(({ state }) => state === 'bad'),
        [],
      )
      assert.match(findings.find(({ check }) => check === 'journal')?.found ?? '', new RegExp(journal))
    })

    it('publishes in a transaction of the program, if and only if that commits', async () => {
      using folder = temporaryFolder()
      const path = join(folder.path, 'app.db')
      await using tm = await open({ driver: driverOf(path) }, { logger: SILENT })
      const db = new Library(path)
      db.exec('create table mine (id integer)')
      for (const [payload, end] of Object.entries({ kept: 'commit', lost: 'rollback' })) {
        db.exec('begin immediate')
        db.exec('insert into mine values (1)')
        await tm.publish('orders', payload, { tx: db })
        db.exec(end)
      }
      const reader = tm.reader('orders')
      assert.equal((await reader.receive()).payload, 'kept')
      assert.equal(await reader.poll(0), null)
      await assert.rejects(tm.publish('orders', 1, { tx: db }), /no transaction open/)
      db.close()
    })

    it('refuses a transaction of another library, or of another file', async () => {
      using folder = temporaryFolder()
      const path = join(folder.path, 'app.db')
      await using tm = await open({ driver: driverOf(path) }, { logger: SILENT })
      using foreign = new DatabaseSync(join(folder.path, 'foreign.db'))
      foreign.exec('begin')
      await assert.rejects(tm.publish('orders', 1, { tx: foreign }), (error: unknown) => {
        assert.ok(error instanceof TransactionError)
        assert.match(error.message, /Two copies of SQLite/)
        return true
      })
      const elsewhere = new Library(join(folder.path, 'elsewhere.db'))
      elsewhere.exec('begin immediate')
      await assert.rejects(tm.publish('orders', 1, { tx: elsewhere }), TransactionError)
      elsewhere.close()
    })
  })
}

describe('a transaction of better-sqlite3', () => {
  it('is refused where Tidemark is on node:sqlite, and told which driver to use', async () => {
    using folder = temporaryFolder()
    await using tm = await open(`sqlite:${join(folder.path, 'app.db')}`, { logger: SILENT })
    const db = new Database(join(folder.path, 'other.db'))
    db.exec('begin')
    await assert.rejects(tm.publish('orders', 1, { tx: db }), /through a driver of 'tidemark\/drivers'/)
    db.close()
  })
})

describe('a SQLite that is too old for a write-ahead log', () => {
  it('refuses a file that another process gives one, before it writes to it', async () => {
    using folder = temporaryFolder()
    const path = join(folder.path, 'app.db')
    await using tm = await open({ driver: libsql(Libsql, path) }, { logger: SILENT })
    await tm.publish('work', 1)
    // As a newer SQLite would in another process; here the same library, because two in one process harm each other.
    const other = new Libsql(path)
    other.prepare('pragma journal_mode = wal').get()
    await assert.rejects(tm.publish('work', 2), (error: unknown) => {
      assert.ok(error instanceof DatabaseVersionError, String(error))
      assert.match(error.message, /write-ahead log/)
      return true
    })
    other.close()
  })

  it('is refused where its driver does not say how to do without', async () => {
    const driver: SqliteDriver = { ...libsql(Libsql, ':memory:'), olderSqlite: 'refuse' }
    await assert.rejects(open({ driver }, { logger: SILENT }), DatabaseVersionError)
  })
})
