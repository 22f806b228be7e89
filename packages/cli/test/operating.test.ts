import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import pg from 'pg'
import { type Finding, open } from 'tidemark'
import { freshDatabase, temporaryFolder } from '../../../testing/databases.ts'
import { EXIT } from '../src/exit-codes.ts'
import { tidemark } from './command.ts'
import { ENGINES, QUIET } from './engines.ts'

type Report = { healthy: boolean; findings: Finding[] }

async function doctor(database: string, ...more: string[]): Promise<Report & { code: number | null }> {
  const { code, out, err } = await tidemark(['doctor', '--json', ...more], { database })
  assert.equal(err, '')
  return { code, ...JSON.parse(out) }
}

const stateOf = ({ findings }: Report, check: string): string | undefined =>
  findings.find(each => each.check === check)?.state

async function withClient(url: string, work: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await work(client)
  } finally {
    await client.end()
  }
}

for (const { engine, fresh } of ENGINES) {
  describe(`the doctor, on ${engine}`, () => {
    it('finds no problem where there is none, and lists what needs attention', async () => {
      await using database = await fresh()
      const before = await doctor(database.url)
      assert.equal(
        stateOf(before, engine === 'SQLite' ? 'file' : 'schema version'),
        engine === 'SQLite' ? 'bad' : 'warn',
      )
      await using tm = await open(database.url, { maintenance: false, logger: QUIET })
      await tm.configureTopic('orders', { semantics: 'pub-sub', maxAttempts: 1 })
      const healthy = await doctor(database.url, '--strict')
      const unwell = healthy.findings.filter(({ check, state }) => state !== 'ok' && check !== 'durability')
      assert.deepEqual(unwell, [])
      for (const check of ['schema version', 'dead letters', 'clean-up', 'consistency', 'open transactions']) {
        assert.equal(stateOf(healthy, check), 'ok')
      }

      const group = tm.reader('orders', { group: 'email', from: 'beginning' })
      await tm.publish('orders', 1)
      await group.nack(await group.receive(), new Error('no'))
      await group.close()
      const report = await doctor(database.url, '--strict')
      assert.equal(report.code, EXIT.found)
      const letters = report.findings.find(({ check }) => check === 'dead letters')
      assert.equal(letters?.state, 'warn')
      assert.match(letters?.found ?? '', /^1 of group email of orders$/)
      assert.match(letters?.advice ?? '', /tidemark dead-letters list orders/)
      assert.equal((await tidemark(['doctor'], { database: database.url })).code, 0)
    })
  })

  describe(`migrate --sql, on ${engine}`, () => {
    it('prints SQL that creates a namespace that open accepts, and changes nothing itself', async () => {
      await using database = await fresh()
      const print = async () => (await tidemark(['migrate', '--sql'], { database: database.url })).out
      const script = await print()
      assert.equal((await tidemark(['migrate', '--check'], { database: database.url })).code, EXIT.found)
      if (engine === 'SQLite') {
        using db = new DatabaseSync(database.url.slice('sqlite:'.length))
        db.exec(script)
      } else await withClient(database.url, client => client.query(script))
      assert.equal(await print(), '-- up to date\n')
      assert.equal((await tidemark(['migrate', '--check'], { database: database.url })).code, EXIT.done)
      await using tm = await open(database.url, { maintenance: false, logger: QUIET })
      await tm.configureTopic('work')
      await tm.publish('work', 1)
      assert.equal((await tm.reader('work').poll(0))?.payload, 1)
    })

    it('is refused together with --check or --index', async () => {
      await using database = await fresh()
      for (const other of [['--check'], ['--index', 'sqlite:./index']]) {
        const { code, err } = await tidemark(['migrate', '--sql', ...other], { database: database.url })
        assert.equal(code, EXIT.usage)
        assert.match(err, /--sql can't be combined with/)
      }
    })
  })

  describe(`a schema of a newer version, on ${engine}`, () => {
    it('is a clear error', async () => {
      await using database = await fresh()
      await (await open(database.url, { maintenance: false, logger: QUIET })).close()
      if (engine === 'SQLite') {
        using db = new DatabaseSync(database.url.slice('sqlite:'.length))
        db.exec("insert into tidemark_migration (version, applied_at, checksum) values (99, 0, '')")
      } else {
        await withClient(database.url, client =>
          client.query("insert into tidemark.migration (version, checksum) values (99, '')"),
        )
      }
      for (const command of ['migrate', 'tail orders']) {
        const { code, err } = await tidemark(command.split(' '), { database: database.url })
        assert.equal(code, EXIT.failed)
        assert.match(err, /was written by a newer Tidemark/)
      }
      const report = await doctor(database.url)
      assert.equal(report.code, EXIT.found)
      assert.equal(stateOf(report, 'schema version'), 'bad')
    })
  })
}

describe('on PostgreSQL', () => {
  it('an open transaction is named, with what to do', async () => {
    await using database = await freshDatabase()
    await (await open(database.url, { maintenance: false, logger: QUIET })).close()
    await withClient(database.url, async client => {
      await client.query('begin')
      await client.query('select pg_current_xact_id()')
      const { rows } = await client.query('select pg_backend_pid() as pid')
      const report = await doctor(database.url, '--open-transaction', '1ms')
      const named = report.findings
        .filter(({ check }) => check === 'open transactions')
        .map(({ advice }) => advice ?? '')
      const ending = new RegExp(`pg_terminate_backend\\(${rows[0].pid}\\)`)
      assert.ok(named.some(advice => ending.test(advice)))
    })
    const wrong = await tidemark(['doctor', '--open-transaction', 'soon'], { database: database.url })
    assert.equal(wrong.code, EXIT.usage)
  })

  it('a namespace of another cluster is found, and repaired', async () => {
    await using database = await freshDatabase()
    {
      await using tm = await open(database.url, { maintenance: false, logger: QUIET })
      await tm.configureTopic('orders', { semantics: 'pub-sub' })
      const reader = tm.reader('orders', { group: 'email', from: 'beginning' })
      await tm.publish('orders', 1)
      await reader.ack(await reader.receive())
    }
    // As the cursors of a server are that has begun far more transactions than this one.
    await withClient(database.url, client =>
      client.query(
        "update tidemark.subscription set window_from = '9000000000:9000000000:', window_to = '9000000000:9000000000:'",
      ),
    )
    const report = await doctor(database.url)
    assert.equal(report.code, EXIT.found)
    assert.equal(stateOf(report, 'cluster'), 'bad')
    const refused = await tidemark(['groups', 'list'], { database: database.url })
    assert.equal(refused.code, EXIT.failed)
    assert.match(refused.err, /restored from another server.*tidemark repair/)
    assert.equal((await tidemark(['repair'], { database: database.url })).code, EXIT.unconfirmed)
    const repaired = await tidemark(['repair', '--yes'], { database: database.url })
    assert.equal(repaired.code, 0)
    assert.match(repaired.out, /^found: .*restored.*\ndone: 1 messages/)
    assert.match((await tidemark(['repair', '--yes'], { database: database.url })).out, /^no problems found\n$/)
    assert.equal(stateOf(await doctor(database.url), 'cluster'), 'ok')
    await using tm = await open(database.url, { maintenance: false, logger: QUIET })
    await tm.publish('orders', 2)
    assert.equal((await tm.reader('orders', { group: 'email' }).receive()).payload, 2)
  })
})

describe('on SQLite', () => {
  it('a damaged file is found, by doctor and repair', async () => {
    using folder = temporaryFolder()
    const path = `${folder.path}/app.db`
    {
      await using tm = await open(`sqlite:${path}`, { maintenance: false, logger: QUIET })
      await tm.publishBatch(
        'orders',
        Array.from({ length: 200 }, (_, at) => ({ at, text: 'x'.repeat(500) })),
      )
    }
    assert.equal((await tidemark(['repair', '--yes'], { database: `sqlite:${path}` })).out, 'no problems found\n')
    const bytes = readFileSync(path)
    // Pages in the middle of the file: the schema can still be read.
    bytes.fill(0xab, Math.floor(bytes.length / 2 / 4_096) * 4_096, bytes.length - 8_192)
    writeFileSync(path, bytes)
    const report = await doctor(`sqlite:${path}`)
    assert.equal(report.code, EXIT.found)
    assert.equal(stateOf(report, 'integrity'), 'bad')
    const repaired = await tidemark(['repair', '--yes', '--json'], { database: `sqlite:${path}` })
    assert.equal(repaired.code, EXIT.found)
    assert.equal(JSON.parse(repaired.out).mended, false)
  })

  it('an index that does not match its table is rebuilt', async () => {
    using folder = temporaryFolder()
    const path = `${folder.path}/app.db`
    await (await open(`sqlite:${path}`, { maintenance: false, logger: QUIET })).close()
    {
      using db = new DatabaseSync(path, { defensive: false })
      db.exec('create table mine (a, b); create index mine_a on mine (a); insert into mine values (1, 2), (3, 4)')
      // The index is taken to be one of the other column, whose values it has not.
      db.exec('pragma writable_schema = on')
      db.exec("update sqlite_schema set sql = 'CREATE INDEX mine_a on mine (b)' where name = 'mine_a'")
    }
    const repaired = await tidemark(['repair', '--yes', '--json'], { database: `sqlite:${path}` })
    assert.equal(repaired.code, 0, repaired.out)
    assert.ok(JSON.parse(repaired.out).problems.length > 0)
    assert.deepEqual(JSON.parse(repaired.out).changes, ['The indexes were built anew'])
  })
})
