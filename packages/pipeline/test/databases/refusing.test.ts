import assert from 'node:assert/strict'
import { chmodSync, chownSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import {
  IndexDatabaseError,
  IndexFullError,
  IndexLockedError,
  IndexReadOnlyError,
  IndexUnreachableError,
  makeRunId,
  openIndex,
} from '@tidemark/pipeline'
import { temporaryFolder } from '../../../../testing/databases.ts'
import { findFreePort } from '../../../../testing/free-port.ts'
import { startPostgres } from '../../../../testing/postgres-server.ts'
import { spawnScript } from '../../../../testing/processes.ts'
import { until } from '../../../../testing/until.ts'
// Inside: no server or SQLite as old as these can be had here.
import { requireVersion as requirePostgres } from '../../src/databases/postgres/migrate.ts'
import { requireVersion as requireSqlite } from '../../src/databases/sqlite/connection.ts'
import { ENGINES, executePostgres, schemaOf } from '../engines.ts'

const script = new URL('scripts/open-index.ts', import.meta.url)
const [sqlite, postgres] = ENGINES
const NOBODY = 65_534
const isRoot = process.getuid?.() === 0

function assertNoSecret(error: unknown): void {
  for (let each = error; each instanceof Error; each = each.cause) {
    assert.doesNotMatch(`${each.message} ${each.stack} ${JSON.stringify(each)}`, /s3cret/)
  }
}

describe('an engine that is too old', () => {
  it('is refused: SQLite', () => {
    for (const version of ['3.51.2', '3.50.9', '2.99.99', '']) {
      assert.throws(() => requireSqlite(version), { code: 'TIDEMARK_INDEX_VERSION', message: /Update Node/ })
    }
    for (const version of ['3.51.3', '3.52.0', '4.0.0']) requireSqlite(version)
  })

  it('is refused: PostgreSQL', () => {
    const refusal = { code: 'TIDEMARK_INDEX_VERSION', message: /host:1\/app is version 13; .* 14 or later/ }
    assert.throws(() => requirePostgres(130_012, 'host:1/app'), refusal)
    assert.throws(() => requirePostgres(Number.NaN, 'host:1/app'), { code: 'TIDEMARK_INDEX_VERSION' })
    requirePostgres(140_000, 'host:1/app')
  })
})

describe('SQLite', () => {
  it('waits for another writer without blocking the event loop, and gives up after busyTimeout', async () => {
    await using place = await (sqlite ?? assert.fail()).fresh()
    const database = await place.open({ busyTimeout: 300 })
    const lock = new DatabaseSync(database.location, { timeout: 5_000 })
    lock.exec('begin immediate')
    const waiting = { over: false }
    const refused = assert.rejects(database.idempotency.markProcessed('a', 'b'), IndexLockedError).finally(() => {
      waiting.over = true
    })
    let turns = 0
    for (; !waiting.over; turns++) await new Promise(resolve => setImmediate(resolve))
    await refused
    // SQLite's own waiting would leave two or three.
    assert.ok(turns > 30, `${turns} turns`)
    assert.equal(await database.idempotency.isProcessed('a', 'b'), false)
    const patient = database.idempotency.markProcessed('a', 'b')
    lock.close()
    assert.equal(await patient, true)
  })

  it('refuses a file that is not a database, and does not change it', async () => {
    using folder = temporaryFolder()
    const runId = makeRunId()
    const path = join(folder.path, `${schemaOf(runId)}.db`)
    const text = 'not a database, but long enough to have been one. '.repeat(100)
    writeFileSync(path, text)
    await assert.rejects(openIndex(`sqlite:${folder.path}`, runId), (error: unknown) => {
      assert.ok(error instanceof IndexDatabaseError)
      assert.match(error.message, /is damaged or is not a SQLite database/)
      return true
    })
    assert.equal(readFileSync(path, 'utf8'), text)
  })

  it('reports an address where no folder can be as unreachable', async () => {
    using folder = temporaryFolder()
    writeFileSync(join(folder.path, 'file'), '')
    await assert.rejects(openIndex(`sqlite:${folder.path}/file/x`, makeRunId()), IndexUnreachableError)
  })

  for (const what of ['a file', 'a folder']) {
    it(`refuses to write to ${what} it may only read`, async () => {
      using parent = temporaryFolder()
      chmodSync(parent.path, 0o755)
      const folder = join(parent.path, 'indexes')
      mkdirSync(folder, { mode: 0o755 })
      const runId = makeRunId()
      if (what === 'a file') {
        const database = await openIndex(`sqlite:${folder}`, runId)
        await database.close()
        chmodSync(database.location, 0o444)
        if (isRoot) chownSync(folder, NOBODY, NOBODY)
      } else chmodSync(folder, 0o555)
      // Nothing is read-only for root.
      const user = isRoot ? [String(NOBODY)] : []
      await using child = spawnScript(script, [`sqlite:${folder}`, runId, ...user])
      const outcome = JSON.parse(await child.waitForLine('{'))
      chmodSync(folder, 0o755)
      assert.deepEqual([outcome.name, outcome.code], ['IndexReadOnlyError', 'TIDEMARK_INDEX_READ_ONLY'])
    })
  }

  it('reports that it is full, and stores nothing', async () => {
    await using place = await (sqlite ?? assert.fail()).fresh()
    const database = await place.open()
    const filled = database.transaction(async tx => {
      await tx.rows('pragma max_page_count = 1')
      for (let index = 0; index < 1_000; index++) {
        await tx.run('insert into processed_key values (?1, ?2, 1)', 'x'.repeat(1_000), String(index))
      }
    })
    await assert.rejects(filled, IndexFullError)
    assert.deepEqual(await database.read('select scope from processed_key'), [])
    await database.transaction(tx => tx.rows('pragma max_page_count = 100000'))
    assert.equal(await database.idempotency.markProcessed('a', 'b'), true)
  })
})

describe('PostgreSQL', () => {
  it('reports an unreachable server with its address, without secrets', async () => {
    const port = await findFreePort()
    await assert.rejects(openIndex(`postgres://me:s3cret@127.0.0.1:${port}/app`, makeRunId()), (error: unknown) => {
      assert.ok(error instanceof IndexUnreachableError)
      assert.match(error.message, new RegExp(`127\\.0\\.0\\.1:${port}/app`))
      assertNoSecret(error)
      return true
    })
  })

  it('refuses an address that cannot be read, without showing it', async () => {
    await assert.rejects(openIndex('postgres://me:s3cret@host:port/x', makeRunId()), (error: unknown) => {
      assert.ok(error instanceof Error)
      assert.doesNotMatch(`${error.message} ${error.stack}`, /s3cret/)
      return true
    })
  })

  it('reports a wrong password without showing it', async () => {
    await using server = await startPostgres()
    await executePostgres(server.url, `create role me login superuser password 'right'`)
    writeFileSync(join(server.dataDir, 'pg_hba.conf'), 'host all all 127.0.0.1/32 scram-sha-256\n')
    await executePostgres(server.url, 'select pg_reload_conf()')
    const opened = (password: string) =>
      openIndex(`postgres://me:${password}@127.0.0.1:${server.port}/postgres`, makeRunId())
    const refuses = async (): Promise<Error | false> => {
      const index = await opened('s3cret').catch((error: Error) => error)
      if (index instanceof Error) return index
      await index.close()
      return false
    }
    const error = await until(refuses, { what: 'the server to ask for passwords' })
    assert.ok(error instanceof IndexDatabaseError)
    assert.match(error.message, /The password is wrong\. Check the user and password/)
    assertNoSecret(error)
    await (await opened('right')).close()
  })

  it('reports that the database does not exist', async () => {
    await using place = await (postgres ?? assert.fail()).fresh()
    const url = new URL(place.address)
    url.pathname = '/nowhere'
    await assert.rejects(openIndex(url.href, makeRunId()), /nowhere.*Create it, or correct its name/s)
  })

  it('refuses a server that is read-only', async () => {
    await using place = await (postgres ?? assert.fail()).fresh()
    const name = new URL(place.address).pathname.slice(1)
    await executePostgres(place.address, `alter database ${name} set default_transaction_read_only = on`)
    await assert.rejects(place.open(), IndexReadOnlyError)
  })

  it('waits at most busyTimeout for another transaction', async () => {
    await using place = await (postgres ?? assert.fail()).fresh()
    const [holder, database] = [await place.open(), await place.open({ busyTimeout: 30 })]
    await holder.idempotency.markProcessed('a', 'b')
    await holder.transaction(async tx => {
      await tx.run('lock table run.processed_key in access exclusive mode')
      await assert.rejects(database.idempotency.markProcessed('a', 'c'), IndexLockedError)
    })
    assert.equal(await database.idempotency.markProcessed('a', 'c'), true)
  })

  it('runs a transaction again that the server gave up for another', async () => {
    await using place = await (postgres ?? assert.fail()).fresh()
    const database = await place.open()
    for (const key of ['1', '2']) await database.idempotency.markProcessed('a', key)
    const marks = async (): Promise<number[]> => {
      const rows = await database.read<{ at: number }>(
        'select marked_at as at from run.processed_key order by item_key',
      )
      return rows.map(({ at }) => at)
    }
    const before = await marks()
    const both = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let runs = 0
    const lock = (keys: [string, string], own: number) =>
      database.transaction(async tx => {
        runs++
        const update = "update run.processed_key set marked_at = marked_at + 1 where scope = 'a' and item_key = $1"
        await tx.run(update, keys[0])
        both[own]?.resolve()
        await both[1 - own]?.promise
        await tx.run(update, keys[1])
      })
    await Promise.all([lock(['1', '2'], 0), lock(['2', '1'], 1)])
    assert.ok(runs > 2, `${runs} runs`)
    const after = await marks()
    assert.deepEqual(
      after,
      before.map(mark => mark + 2),
    )
  })

  for (const [code, kind] of Object.entries({ '53100': IndexFullError, '57P03': IndexUnreachableError })) {
    it(`reports ${kind.name} for ${code} of the server, and stores nothing`, async () => {
      await using place = await (postgres ?? assert.fail()).fresh()
      const database = await place.open()
      await place.execute(
        `create function refuse() returns trigger language plpgsql as $$
           begin raise exception 'refused' using errcode = '${code}'; end $$;
         create trigger refuse before insert on run.processed_key for each row execute function refuse()`,
      )
      await assert.rejects(database.idempotency.markProcessed('a', 'b'), kind)
      await place.execute('drop function refuse() cascade')
      assert.equal(await database.idempotency.markProcessed('a', 'b'), true)
    })
  }
})
