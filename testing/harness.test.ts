import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { describe, it } from 'node:test'
import { Client } from 'pg'
import { freshDatabase, temporaryFolder } from './databases.ts'
import { isRunning } from './is-running.ts'
import { type PostgresServer, startPostgres } from './postgres-server.ts'
import { spawnScript } from './processes.ts'
import { until } from './until.ts'

const LONG_SUMS = `select pid from pg_stat_activity where query like '%long sum%' and pid <> pg_backend_pid()`
const leaveThingsBehind = new URL('scripts/leave-things-behind.ts', import.meta.url)

describe('a fresh database', () => {
  it('is empty, works, and is gone after disposal', async () => {
    const database = await freshDatabase()
    {
      await using _ = database
      assert.deepEqual(await query(database.url, `select * from pg_tables where schemaname = 'public'`), [])
      await query(database.url, 'create table note (words text)')
      await query(database.url, `insert into note values ('hello')`)
      assert.deepEqual(await query(database.url, 'select words from note'), [{ words: 'hello' }])
    }
    await assert.rejects(query(database.url, 'select 1'), { code: '3D000' })
  })

  it('is dropped even while somebody is connected to it', async () => {
    const database = await freshDatabase()
    const client = new Client({ connectionString: database.url })
    const cutOff = new Promise(resolve => client.on('error', resolve))
    await client.connect()
    try {
      await database.drop()
      await cutOff
    } finally {
      await client.end()
    }
    await database.drop() // twice is fine
  })

  it('has a name of its own', async () => {
    await using first = await freshDatabase()
    await using second = await freshDatabase()
    assert.notEqual(first.name, second.name)
  })
})

describe('a private server', () => {
  const lives: [string, (server: PostgresServer) => Promise<void>][] = [
    [`stop('fast')`, server => server.stop('fast')],
    [`stop('immediate')`, server => server.stop('immediate')],
    ['kill()', server => server.kill()],
  ]

  it('keeps its port and its data through every kind of end', async () => {
    await using server = await startPostgres({ durable: true })
    await query(server.url, 'create table life (lived text)')
    for (const [name, end] of lives) {
      await query(server.url, 'insert into life values ($1)', [name])
      await end(server)
      await assert.rejects(query(server.url, 'select 1'), { code: 'ECONNREFUSED' })
      await server.start()
    }
    const lived = await query(server.url, 'select lived from life')
    assert.deepEqual(lived, [{ lived: `stop('fast')` }, { lived: `stop('immediate')` }, { lived: 'kill()' }])
  })

  it('starts again right after kill(), whatever its sessions were at', async () => {
    await using server = await startPostgres()
    const client = new Client({ connectionString: server.url })
    client.on('error', () => {}) // The server went away, as it should.
    await client.connect()
    const work = client.query(`select sum(n) as "long sum" from generate_series(1, 3000000) n`).catch(() => {})
    await until(async () => (await query(server.url, LONG_SUMS)).length, { what: 'a session at work' })
    await server.kill()
    await server.start()
    assert.deepEqual(await query(server.url, LONG_SUMS), [])
    await work
    await client.end()
  })

  it('leaves neither process nor folder after disposal, and says how it runs', async () => {
    let left: { pid: number | undefined; folder: string }
    {
      await using server = await startPostgres()
      left = { pid: server.pid, folder: dirname(server.dataDir) }
      assert.deepEqual(await query(server.url, 'show fsync'), [{ fsync: 'off' }])
      assert.deepEqual(await query(server.url, 'show max_connections'), [{ max_connections: '200' }])
    }
    assert.ok(left.pid && !isRunning(left.pid))
    assert.equal(existsSync(left.folder), false)
  })
})

describe('a temporary folder', () => {
  it('is gone after disposal', () => {
    let path: string
    {
      using folder = temporaryFolder()
      path = folder.path
      assert.equal(existsSync(path), true)
    }
    assert.equal(existsSync(path), process.env.TIDEMARK_KEEP === '1')
  })
})

describe('until', () => {
  it('gives the first truthy value', async () => {
    let asked = 0
    assert.equal(await until(() => ++asked === 3 && 'third', { what: 'the third time' }), 'third')
  })

  it('names at its timeout what it waited for', async () => {
    await assert.rejects(
      until(() => false, { timeout: 20, what: 'the moon' }),
      /Timed out after 20 ms waiting for the moon/,
    )
  })

  it('does not wait longer for a condition that never answers', async () => {
    const never = () => new Promise<boolean>(() => {})
    await assert.rejects(until(never, { timeout: 20, what: 'an answer' }), /for an answer/)
  })

  it('lets an error of the condition through at once', async () => {
    const fail = () => Promise.reject(new RangeError('broken'))
    await assert.rejects(until(fail, { what: 'nothing' }), RangeError)
  })
})

describe('a test process killed with SIGKILL', () => {
  it('leaves behind no server, no child and no folder', async () => {
    await using script = spawnScript(leaveThingsBehind, [], { env: { TIDEMARK_KEEP: undefined } })
    const { pids, folders } = JSON.parse(await script.waitForLine('{')) as { pids: number[]; folders: string[] }
    assert.ok(pids.every(isRunning) && folders.every(existsSync))
    script.kill('SIGKILL')
    assert.deepEqual(await script.exited, { code: null, signal: 'SIGKILL' })
    await until(() => !pids.some(isRunning), { what: `the processes ${pids} to end` })
    await until(() => !folders.some(existsSync), { what: `the folders ${folders} to go` })
  })
})

describe('a script', () => {
  it('tells its lines, messages and end', async () => {
    await using script = spawnScript(new URL('scripts/echo.ts', import.meta.url), ['hello'])
    assert.equal(await script.waitForLine(/^hello/), 'hello from the script')
    script.send({ question: 6 })
    assert.deepEqual(await script.exited, { code: 3, signal: null })
    assert.deepEqual(script.messages, [{ answer: 42 }])
    assert.deepEqual(script.errorLines, ['bye'])
    await assert.rejects(script.waitForLine('no such line'), /ended without a line that has no such line.*bye/s)
  })
})

async function query(url: string, sql: string, values: unknown[] = []): Promise<unknown[]> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(sql, values)).rows
  } finally {
    await client.end()
  }
}
