/** Databases that can't be used: how each engine's own database refuses, so these tests make its files, servers and schemas so. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import {
  DatabaseError,
  DatabaseFullError,
  DatabaseLockedError,
  DatabaseReadOnlyError,
  DatabaseUnreachableError,
  DatabaseVersionError,
  diagnose,
  migrate,
  open,
  repair,
  schemaVersions,
} from 'tidemark'
import { temporaryFolder } from '../../../../testing/databases.ts'
import { findFreePort } from '../../../../testing/free-port.ts'
import { startPostgres } from '../../../../testing/postgres-server.ts'
import { spawnScript } from '../../../../testing/processes.ts'
import { until } from '../../../../testing/until.ts'
import { consume } from '../../src/conformance/consuming.ts'
import { executePostgres, SHARED_STORES, SILENT, type Statement } from './stores.ts'

const script = new URL('../../src/conformance/scripts/open-and-publish.ts', import.meta.url)
const NOBODY = 65_534
const isRoot = process.getuid?.() === 0
const [sqlite, postgres] = SHARED_STORES
const logger = SILENT

type Outcome = { id?: number; name?: string; message?: string; code?: string }

/** What working copies before the first release have left behind. */
const PRE_RELEASES: Record<string, readonly Statement[]> = {
  'without checksums': [
    {
      sqlite: 'alter table tidemark_migration drop column checksum',
      postgres: 'alter table tidemark.migration drop column checksum',
    },
  ],
  'with other tables': [
    {
      sqlite: "update tidemark_migration set checksum = 'other' where version = 1",
      postgres: "update tidemark.migration set checksum = 'other' where version = 1",
    },
  ],
}

for (const store of SHARED_STORES) {
  describe(store.name, () => {
    it('refuses a schema that a newer Tidemark wrote', async () => {
      await using database = await store.fresh()
      await (await database.open()).close()
      await database.execute({
        sqlite: "insert into tidemark_migration (version, checksum, applied_at) values (999, '', 1)",
        postgres: "insert into tidemark.migration (version, checksum) values (999, '')",
      })
      await assert.rejects(database.open(), (error: unknown) => {
        assert.ok(error instanceof DatabaseVersionError)
        assert.match(error.message, /newer Tidemark.*999.*Up/s)
        return true
      })
    })

    it('that refuses one message stores those that are published with it', async () => {
      await using database = await store.fresh()
      const tm = await database.open()
      await tm.publish('work', 0)
      await database.execute({
        sqlite: `
          create trigger refuse before insert on tidemark_log_1 when new.key = 'refused'
          begin select raise(abort, 'refused by a test'); end`,
        postgres: "alter table tidemark.log_1 add check (key is distinct from 'refused')",
      })
      const published = await Promise.allSettled([
        tm.publish('work', 1),
        tm.publish('work', 2, { key: 'refused' }),
        tm.publish('work', 3),
      ])
      const [, refused] = published
      assert.deepEqual(
        published.map(({ status }) => status),
        ['fulfilled', 'rejected', 'fulfilled'],
      )
      assert.ok(refused?.status === 'rejected' && refused.reason instanceof DatabaseError)
      assert.deepEqual(await consume(tm.reader('work'), 3), [0, 1, 3])
    })

    for (const [what, change] of Object.entries(PRE_RELEASES)) {
      it(`refuses a namespace of a pre-release, ${what}, in whatever way it is opened`, async () => {
        await using database = await store.fresh()
        const tm = await database.open()
        await tm.publish('work', 'kept')
        await tm.close()
        for (const statement of change) await database.execute(statement)
        const calls = { open: () => database.open(), migrate, schemaVersions, repair }
        for (const [call, attempt] of Object.entries(calls)) {
          await assert.rejects(attempt(database.url), (error: unknown) => {
            assert.ok(error instanceof DatabaseVersionError, `${call}: ${error}`)
            assert.match(error.message, /made by a pre-release.*(Delete the file|drop schema).*another/s)
            return true
          })
        }
        const findings = await diagnose(database.url)
        assert.ok(findings.some(({ state, found }) => state === 'bad' && /pre-release/.test(found)))
        const [row] = await database.execute({
          sqlite: 'select count(*) as count from tidemark_log_1',
          postgres: 'select count(*)::int as count from tidemark.log_1',
        })
        assert.equal(row?.count, 1)
      })
    }
  })
}

describe('SQLite', () => {
  it('waits for another writer, and continues when it is done', async () => {
    assert.ok(sqlite)
    await using database = await sqlite.fresh()
    const tm = await database.open()
    await tm.configureTopic('work')
    const lock = await database.lock()
    const published = tm.publish('work', 1)
    await until(() => tm.metrics().pool.waiting > 0, { what: 'the publish to wait' })
    assert.equal(tm.metrics().totals.published, 0)
    await lock[Symbol.asyncDispose]()
    await published
    assert.deepEqual(await consume(tm.reader('work'), 1), [1])
  })

  it('does not block the event loop while it waits', async () => {
    assert.ok(sqlite)
    await using database = await sqlite.fresh()
    const tm = await database.open({ busyTimeout: 300 })
    await tm.configureTopic('work')
    await using _ = await database.lock()
    const waiting = { over: false }
    const refused = assert.rejects(tm.publish('work', 1), DatabaseLockedError).finally(() => {
      waiting.over = true
    })
    let turns = 0
    for (; !waiting.over; turns++) await new Promise(resolve => setImmediate(resolve))
    await refused
    // SQLite's own waiting would leave two or three.
    assert.ok(turns > 30, `${turns} turns`)
  })

  it('gives up on another writer after busyTimeout', async () => {
    assert.ok(sqlite)
    await using database = await sqlite.fresh()
    const tm = await database.open({ busyTimeout: 30 })
    await tm.configureTopic('work')
    {
      await using _ = await database.lock()
      await assert.rejects(tm.publish('work', 1), (error: unknown) => {
        assert.ok(error instanceof DatabaseLockedError)
        assert.equal(error.code, 'TIDEMARK_DATABASE_LOCKED')
        assert.match(error.message, /app\.db.*busyTimeout/)
        return true
      })
      await assert.rejects(database.open({ busyTimeout: 30 }), DatabaseLockedError)
    }
    await tm.publish('work', 2)
    assert.deepEqual(await consume(tm.reader('work'), 1), [2])
  })

  it('refuses a file that is not a database, and does not change it', async () => {
    using folder = temporaryFolder()
    const path = join(folder.path, 'notes.txt')
    const text = 'not a database, but long enough to have been one. '.repeat(100)
    writeFileSync(path, text)
    await assert.rejects(open(`sqlite:${path}`, { logger }), (error: unknown) => {
      assert.ok(error instanceof DatabaseError)
      assert.match(error.message, /notes\.txt is damaged or is not a SQLite database/)
      return true
    })
    assert.equal(readFileSync(path, 'utf8'), text)
  })

  it('reports a path where no folder can be as unreachable', async () => {
    using folder = temporaryFolder()
    writeFileSync(join(folder.path, 'file'), '')
    await assert.rejects(open(`sqlite:${folder.path}/file/app.db`, { logger }), DatabaseUnreachableError)
    await assert.rejects(open(`sqlite:${folder.path}`, { logger }), DatabaseUnreachableError)
  })

  it('makes the folders of a new file', async () => {
    using folder = temporaryFolder()
    await using tm = await open(`sqlite:${folder.path}/a/b/app.db`, { logger })
    assert.equal((await tm.publish('work', 1)).id, 1)
  })

  for (const what of ['a file', 'a folder', 'the parent of a folder to be made']) {
    it(`refuses ${what} it may only read`, async () => {
      using parent = temporaryFolder()
      chmodSync(parent.path, 0o755)
      const folder = join(parent.path, 'data')
      mkdirSync(folder, { mode: 0o755 })
      const path = join(folder, 'app.db')
      if (what === 'a file') {
        await (await open(`sqlite:${path}`, { logger })).close()
        chmodSync(path, 0o444)
        if (isRoot) chownSync(folder, NOBODY, NOBODY)
      } else chmodSync(folder, 0o555)
      const url = what.startsWith('the parent') ? `sqlite:${folder}/new/app.db` : `sqlite:${path}`
      // Nothing is read-only for root.
      await using child = spawnScript(script, [url, ...(isRoot ? [String(NOBODY)] : [])])
      const outcome = JSON.parse(await child.waitForLine('{')) as Outcome
      chmodSync(folder, 0o755)
      assert.deepEqual([outcome.name, outcome.code], ['DatabaseReadOnlyError', 'TIDEMARK_DATABASE_READ_ONLY'])
      assert.match(outcome.message ?? '', /app\.db is read-only\. Give this process write access/)
    })
  }

  it('says that the database is full, and stores nothing', async () => {
    assert.ok(sqlite)
    await using database = await sqlite.fresh()
    const tm = await database.open()
    await tm.configureTopic('work')
    using db = new DatabaseSync(database.url.slice('sqlite:'.length))
    db.exec('pragma max_page_count = 1')
    db.exec('begin immediate')
    await assert.rejects(tm.publish('work', 'x'.repeat(100_000), { tx: db }), DatabaseFullError)
    if (db.isTransaction) db.exec('rollback')
    assert.equal(await tm.reader('work').poll(0), null)
  })

  it('says that the disk is full, and works again when it is not', {
    skip: !canMount() && 'no mount namespaces',
  }, () => {
    using folder = temporaryFolder()
    const command = `mount -t tmpfs -o size=2m tmpfs ${folder.path} && exec "$0" "$@"`
    const flags = ['--conditions=tidemark-source', '--disable-warning=ExperimentalWarning']
    const node = [process.execPath, ...flags, fileURLToPath(script), `sqlite:${folder.path}/app.db`]
    const env = { ...process.env, NODE_TEST_CONTEXT: undefined }
    const output = execFileSync('unshare', ['-rm', 'sh', '-c', command, ...node], { encoding: 'utf8', env })
    const outcome = JSON.parse(output) as Outcome
    assert.deepEqual([outcome.name, outcome.code], ['DatabaseFullError', 'TIDEMARK_DATABASE_FULL'])
    assert.match(outcome.message ?? '', /Free disk space/)
  })
})

describe('PostgreSQL', () => {
  it('reports an unreachable server with its address, without secrets', async () => {
    const port = await findFreePort()
    await assert.rejects(open(`postgres://me:s3cret@127.0.0.1:${port}/app`, { logger }), (error: unknown) => {
      assert.ok(error instanceof DatabaseUnreachableError)
      assert.match(error.message, new RegExp(`127\\.0\\.0\\.1:${port}/app`))
      assertNoSecret(error)
      return true
    })
  })

  it('reports a wrong password without showing it', async () => {
    await using server = await startPostgres()
    await executePostgres(server.url, `create role me login superuser password 'right'`)
    writeFileSync(join(server.dataDir, 'pg_hba.conf'), 'host all all 127.0.0.1/32 scram-sha-256\n')
    await executePostgres(server.url, 'select pg_reload_conf()')
    const url = (password: string) => `postgres://me:${password}@127.0.0.1:${server.port}/postgres`
    const refuses = async () => {
      const tm = await open(url('s3cret'), { logger }).catch((error: unknown) => error)
      return tm instanceof Error && tm
    }
    const error = await until(refuses, { what: 'the server to ask for passwords' })
    assert.ok(error instanceof DatabaseError)
    assert.match(error.message, /password is wrong/)
    assertNoSecret(error)
    await (await open(url('right'), { logger })).close()
  })

  it('reports that the database does not exist', async () => {
    assert.ok(postgres)
    await using database = await postgres.fresh()
    const url = new URL(database.url)
    url.pathname = '/nowhere'
    await assert.rejects(open(url.href, { logger }), /nowhere.*Create it, or correct its name/s)
  })

  it('refuses an address that cannot be read, without showing it', async () => {
    for (const url of [
      'postgres://me:s3cret@host:port/x',
      'postgres://me:s3cret@[::1/x',
      'postgres://me:s3cret@/%zz',
    ]) {
      await assert.rejects(open(url, { logger }), (error: unknown) => {
        assert.ok(error instanceof Error)
        assertNoSecret(error)
        assert.ok('code' in error && String(error.code).startsWith('TIDEMARK_'), String(error))
        return true
      })
    }
  })

  it('refuses a server that is read-only', async () => {
    assert.ok(postgres)
    await using database = await postgres.fresh()
    const name = new URL(database.url).pathname.slice(1)
    await executePostgres(database.url, `alter database ${name} set default_transaction_read_only = on`)
    await assert.rejects(database.open(), DatabaseReadOnlyError)
  })

  for (const [code, kind] of Object.entries({
    '53100': DatabaseFullError,
    '25006': DatabaseReadOnlyError,
    '55P03': DatabaseLockedError,
    '57P03': DatabaseUnreachableError,
  })) {
    it(`reports ${kind.name} for ${code} of the server, and stores nothing`, async () => {
      assert.ok(postgres)
      await using database = await postgres.fresh()
      const tm = await database.open()
      await tm.configureTopic('work')
      await executePostgres(
        database.url,
        `create function refuse() returns trigger language plpgsql as $$
           begin raise exception 'refused' using errcode = '${code}'; end $$;
         create trigger refuse before insert on tidemark.log_1 for each row execute function refuse()`,
      )
      await assert.rejects(tm.publish('work', 1), kind)
      await executePostgres(database.url, 'drop function refuse() cascade')
      assert.equal(await tm.reader('work').poll(0), null)
      await tm.publish('work', 2)
    })
  }
})

/** Neither in what is shown to people nor in what a logger would print of it. */
function assertNoSecret(error: Error): void {
  for (let each: unknown = error; each instanceof Error; each = each.cause) {
    assert.doesNotMatch(`${each.message} ${each.stack} ${JSON.stringify(each)}`, /s3cret/)
  }
}

function canMount(): boolean {
  try {
    execFileSync('unshare', ['-rm', 'true'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
