import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import pg from 'pg'
import { type Logger, open } from 'tidemark'
import { freshDatabase, temporaryFolder } from '../../../../testing/databases.ts'
import { findFreePort } from '../../../../testing/free-port.ts'
import { until } from '../../../../testing/until.ts'
import { unwatchProcess, watchProcess } from '../../../../testing/watchdog.ts'

const isInstalled = spawnSync('pgbouncer', ['--version']).status === 0
const skip = isInstalled ? false : 'pgbouncer is not installed (on Debian: apt-get install pgbouncer)'

describe('behind a pooler in transaction mode', { skip }, () => {
  it('works by looking, says so once, and prepares nothing', async () => {
    await using database = await freshDatabase()
    await using pooler = await startPooler(database.url)
    const warnings: string[] = []
    const logger: Logger = { debug() {}, info() {}, warn: (_, text) => warnings.push(text), error() {} }
    await using here = await open(pooler.url, { logger })
    await using there = await open(pooler.url, { logger: { ...logger, warn() {} } })
    assert.match(warnings.join('\n'), /^LISTEN does not work.*$/)

    await here.configureTopic('work', { semantics: 'pub-sub' })
    const seen: number[] = []
    const group = there.consumerGroup<number>('work', 'g')
    group.addConsumer('c', ({ payload }) => seen.push(payload), { concurrency: 2 })
    await group.start({ from: 'beginning' })
    await Promise.all(Array.from({ length: 100 }, (_, n) => here.publish('work', n)))
    await here.publishBatch('work', [100, 101])
    await until(() => seen.length === 102, { what: 'the other instance to find them' })
    assert.deepEqual(
      seen.toSorted((a, b) => a - b),
      Array.from({ length: 102 }, (_, n) => n),
    )
    assert.equal(warnings.length, 1)
    // A session of the server may be anybody's next: what one client prepared there, another would trip over.
    assert.deepEqual(await preparedStatements(pooler.url), [])
  })
})

/** In the server's sessions, as the pooler hands them out. */
async function preparedStatements(url: string): Promise<unknown[]> {
  const pool = new pg.Pool({ connectionString: url, max: 5 })
  try {
    const ask = () => pool.query('select name from pg_prepared_statements, pg_sleep(0.05)')
    const answers = await Promise.all(Array.from({ length: 5 }, ask))
    return answers.flatMap(({ rows }) => rows)
  } finally {
    await pool.end()
  }
}

async function startPooler(serverUrl: string): Promise<AsyncDisposable & { url: string }> {
  const folder = temporaryFolder()
  const { hostname, port: serverPort, username, password, pathname } = new URL(serverUrl)
  const port = await findFreePort()
  const settings = join(folder.path, 'pgbouncer.ini')
  const secret = password === '' ? '' : ` password=${decodeURIComponent(password)}`
  writeFileSync(
    settings,
    `[databases]
pooled = host=${hostname} port=${serverPort} user=${decodeURIComponent(username)}${secret} dbname=${pathname.slice(1)}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 5
max_client_conn = 100
`,
  )
  // It refuses to run as root.
  const user = process.getuid?.() === 0 ? ['-u', 'nobody'] : []
  const pooler = spawn('pgbouncer', [...user, settings], { stdio: 'ignore' })
  if (pooler.pid !== undefined) watchProcess(pooler.pid, 'SIGKILL')
  const url = `postgres://${username}@127.0.0.1:${port}/pooled`
  await until(() => accepts(url), { what: 'pgbouncer to accept connections' })
  return {
    url,
    [Symbol.asyncDispose]: async () => {
      await end(pooler)
      folder[Symbol.dispose]()
    },
  }
}

async function accepts(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url })
  return await client.connect().then(
    async () => {
      await client.end()
      return true
    },
    () => false,
  )
}

async function end(pooler: ChildProcess): Promise<void> {
  const ended = once(pooler, 'exit')
  pooler.kill('SIGKILL')
  await ended
  if (pooler.pid !== undefined) unwatchProcess(pooler.pid)
}
