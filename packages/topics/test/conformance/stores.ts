/** The stores under test. One suite for all: what holds on one holds on every other. */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Client } from 'pg'
import { type Logger, type OpenOptions, open, type Tidemark } from 'tidemark'
import { migratedDatabase, temporaryFolder } from '../../../../testing/databases.ts'
import { startPostgres } from '../../../../testing/postgres-server.ts'

export type TestDatabase = AsyncDisposable & {
  readonly url: string
  /** Closed with the database, where the test has not done so before. */
  open(options?: OpenOptions): Promise<Tidemark>
  /** As if the term of every live lease had passed; those without a term stay. */
  expireLeases(): Promise<void>
  /** As if this much time had passed in silence for every subscription: heartbeats, misses and ends lie so much further back. */
  passTime(ms: number): Promise<void>
  /** The row of a pub-sub topic's group, as it is stored. */
  subscription(group: string): Promise<Record<string, unknown>>
  /** Holds what every claim needs, as another process's long transaction would. */
  lock(): Promise<Lock>
  /** What nobody can do through the API: each store's own statement for it. */
  execute(statement: Statement): Promise<Record<string, unknown>[]>
}

type Lock = AsyncDisposable & {
  /** Whether somebody is known to wait for it; SQLite does not tell, the waiting instance's metrics do. */
  isWaitedFor(): Promise<boolean>
}

export type Statement = { readonly sqlite: string; readonly postgres: string }

export type TestStore = {
  readonly name: 'SQLite' | 'SQLite in memory' | 'PostgreSQL'
  fresh(): Promise<TestDatabase>
}

const EXPIRE: Statement = {
  sqlite: `
    update tidemark_lease set deadline = 1
    where deadline is not null and done_at is null and expired_at is null`,
  postgres: `
    update tidemark.lease set deadline = clock_timestamp() - interval '1 second'
    where deadline is not null and done_at is null and expired_at is null`,
}

const passTime = (ms: number): Statement => ({
  sqlite: `
    update tidemark_subscription
    set last_heartbeat_at = last_heartbeat_at - ${ms}, missed_at = missed_at - ${ms}, status_at = status_at - ${ms}`,
  postgres: `
    update tidemark.subscription
    set last_heartbeat_at = last_heartbeat_at - ${ms} * interval '1 millisecond',
      missed_at = missed_at - ${ms} * interval '1 millisecond', status_at = status_at - ${ms} * interval '1 millisecond'`,
})

const subscriptionOf = (group: string): Statement => ({
  sqlite: `select * from tidemark_subscription where group_name = '${group}'`,
  postgres: `select * from tidemark.subscription where group_name = '${group}'`,
})

const sqliteFile: TestStore = {
  name: 'SQLite',
  async fresh() {
    const folder = temporaryFolder()
    const path = join(folder.path, 'app.db')
    return database(`sqlite:${path}`, {
      execute: async ({ sqlite }) => executeSqlite(path, sqlite),
      lock: async () => lockSqlite(path),
      remove: async () => folder[Symbol.dispose](),
    })
  },
}

const sqliteMemory: TestStore = {
  name: 'SQLite in memory',
  async fresh() {
    const refuse = () => Promise.reject(new Error('Nobody else can reach a database in memory'))
    return database('sqlite::memory:', { execute: refuse, lock: refuse, remove: async () => {} })
  },
}

const postgres: TestStore = {
  name: 'PostgreSQL',
  async fresh() {
    const { url, drop } = await migratedDatabase()
    return postgresDatabase(url, drop)
  },
}

let ownServer: Promise<string> | undefined

/**
 * On a server of the test file's own, which ends with its process: on the shared one a transaction of another test holds
 * watermarks and clean-up back while it is open.
 */
const secludedPostgres: TestStore = {
  name: 'PostgreSQL',
  async fresh() {
    ownServer ??= startPostgres().then(server => server.url)
    const { url, drop } = await migratedDatabase(await ownServer)
    return postgresDatabase(url, drop)
  },
}

function postgresDatabase(url: string, remove: () => Promise<void>): TestDatabase {
  return database(url, {
    execute: statement => executePostgres(url, statement.postgres),
    lock: () => lockPostgres(url),
    remove,
  })
}

/** Those that several instances and processes share, and that outlive them. */
export const SHARED_STORES = [sqliteFile, postgres]
/** Nobody else's transactions are in these. */
export const SECLUDED_STORES = [sqliteFile, secludedPostgres]
export const STORES = [...SHARED_STORES, sqliteMemory]

/** Tests provoke warnings on purpose. */
export const SILENT: Logger = { debug() {}, info() {}, warn() {}, error() {} }

export async function executePostgres(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}

function executeSqlite(path: string, sql: string): Record<string, unknown>[] {
  const db = new DatabaseSync(path, { timeout: 5_000 })
  try {
    return db.prepare(sql).all()
  } finally {
    db.close()
  }
}

function lockSqlite(path: string): Lock {
  const db = new DatabaseSync(path, { timeout: 5_000 })
  db.exec('begin immediate')
  return { isWaitedFor: async () => false, [Symbol.asyncDispose]: async () => db.close() }
}

async function lockPostgres(url: string): Promise<Lock> {
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query('begin')
  await client.query('select from tidemark.subscription for update')
  const waiting = 'select count(*)::int as waiting from pg_locks where not granted'
  return {
    isWaitedFor: async () => (await client.query<{ waiting: number }>(waiting)).rows[0]?.waiting !== 0,
    [Symbol.asyncDispose]: () => client.end(),
  }
}

type Parts = Pick<TestDatabase, 'execute' | 'lock'> & { remove: () => Promise<void> }

function database(url: string, { execute, lock, remove }: Parts): TestDatabase {
  const opened = new Set<Tidemark>()
  return {
    url,
    execute,
    lock,
    async open(options) {
      // Most tests want a queue that is there; what happens where none was made has tests of its own.
      const tm = await open(url, { logger: SILENT, autoCreate: true, ...options })
      opened.add(tm)
      return tm
    },
    async expireLeases() {
      await execute(EXPIRE)
    },
    async passTime(ms) {
      await execute(passTime(ms))
    },
    async subscription(group) {
      const [row] = await execute(subscriptionOf(group))
      if (row === undefined) throw new Error(`There is no group '${group}'`)
      return row
    },
    async [Symbol.asyncDispose]() {
      await Promise.allSettled([...opened].map(tm => tm.close()))
      await remove()
    },
  }
}
