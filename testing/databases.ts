import { randomBytes } from 'node:crypto'
import { Client, Pool } from 'pg'
import { startPostgres } from './postgres-server.ts'
import { sharedCluster } from './shared-cluster.ts'

export { temporaryFolder } from './folders.ts'

export type FreshDatabase = AsyncDisposable & {
  url: string
  name: string
  drop(): Promise<void>
}

/** An empty database on the server of this test run, or on another. */
export async function freshDatabase(url?: string): Promise<FreshDatabase> {
  // template0, because creating from template1 fails while anybody is connected to it.
  return await createDatabase(url ?? (await serverUrl()), 'template0')
}

/**
 * A database with the tables of the default namespace, empty, on the server of this test run or on a private one. A test
 * file that is run by itself has no template; `open` creates the tables then.
 */
export async function migratedDatabase(privateUrl?: string): Promise<FreshDatabase> {
  const template = privateUrl === undefined ? process.env.TIDEMARK_TEST_TEMPLATE : sharedCluster()?.template
  return await createDatabase(privateUrl ?? (await serverUrl()), template ?? 'template0')
}

async function createDatabase(server: string, template: string): Promise<FreshDatabase> {
  const name = `tidemark_test_${randomBytes(8).toString('hex')}`
  const create = `create database ${name} template ${template}`
  // PostgreSQL 14 does not know the word, and has no other way to copy than this one.
  await onServer(server, `${create} strategy file_copy`).catch(async error => {
    if (error.code !== UNKNOWN_OPTION) throw error
    await onServer(server, create)
  })
  const drop = () => onServer(server, `drop database if exists ${name} with (force)`)
  return { url: withDatabase(server, name), name, drop, [Symbol.asyncDispose]: drop }
}

const UNKNOWN_OPTION = '42601'

const connections = new Map<string, Pool>()

/** A connection costs as much as it takes to drop a database, so it is kept. It doesn't keep the process alive. */
async function onServer(url: string, sql: string): Promise<void> {
  let pool = connections.get(url)
  if (pool === undefined) {
    pool = new Pool({ connectionString: url, max: 4, idleTimeoutMillis: 0, allowExitOnIdle: true })
    pool.on('error', () => {}) // The server was stopped; the next statement connects again.
    connections.set(url, pool)
  }
  await pool.query(sql)
}

let privateServer: Promise<string> | undefined

async function serverUrl(): Promise<string> {
  const { TIDEMARK_TEST_POSTGRES_URL: url } = process.env
  if (url) return url
  // A test file run by itself. The watchdog stops the server when this process ends.
  privateServer ??= startPostgres().then(server => server.url)
  return await privateServer
}

export function withDatabase(server: string, name: string): string {
  const url = new URL(server)
  url.pathname = name
  return url.href
}

export async function execute(url: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}
