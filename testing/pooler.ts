import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { temporaryFolder } from './folders.ts'
import { findFreePort } from './free-port.ts'
import { until } from './until.ts'
import { unwatchProcess, watchProcess } from './watchdog.ts'

const isInstalled = spawnSync('pgbouncer', ['--version']).status === 0

/** For `describe` and `it`: why what needs a pooler can't be run here. */
export const skipWithoutPooler = isInstalled
  ? false
  : 'pgbouncer is not installed (on Debian: apt-get install pgbouncer)'

/** In the server's sessions, as the pooler hands them out. */
export async function preparedStatements(url: string): Promise<{ readonly name: string }[]> {
  const pool = new pg.Pool({ connectionString: url, max: 5 })
  try {
    const ask = () => pool.query('select name from pg_prepared_statements, pg_sleep(0.05)')
    const answers = await Promise.all(Array.from({ length: 5 }, ask))
    return answers.flatMap(({ rows }) => rows)
  } finally {
    await pool.end()
  }
}

/** In transaction mode: each transaction may be another session of the server. */
export async function startPooler(serverUrl: string): Promise<AsyncDisposable & { url: string }> {
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
