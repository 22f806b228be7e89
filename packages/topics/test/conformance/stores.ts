/** The stores under test. One suite for all: what holds on one holds on every other. */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Client } from 'pg'
import { type Logger, type OpenOptions, open, type Tidemark } from 'tidemark'
import { freshDatabase, temporaryFolder } from '../../../../testing/databases.ts'

export type TestDatabase = AsyncDisposable & {
  readonly url: string
  /** Closed with the database, where the test has not done so before. */
  open(options?: OpenOptions): Promise<Tidemark>
  /** As if the term of every live lease had passed; those without a term stay. */
  expireLeases(): Promise<void>
  /** What nobody can do through the API: each store's own statement for it. */
  execute(statement: Statement): Promise<Record<string, unknown>[]>
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

const sqliteFile: TestStore = {
  name: 'SQLite',
  async fresh() {
    const folder = temporaryFolder()
    const path = join(folder.path, 'app.db')
    return database(`sqlite:${path}`, {
      execute: async ({ sqlite }) => executeSqlite(path, sqlite),
      remove: async () => folder[Symbol.dispose](),
    })
  },
}

const sqliteMemory: TestStore = {
  name: 'SQLite in memory',
  async fresh() {
    const execute = () => Promise.reject(new Error('Nobody else can reach a database in memory'))
    return database('sqlite::memory:', { execute, remove: async () => {} })
  },
}

const postgres: TestStore = {
  name: 'PostgreSQL',
  async fresh() {
    const { url, drop } = await freshDatabase()
    return database(url, { execute: statement => executePostgres(url, statement.postgres), remove: drop })
  },
}

/** Those that several instances and processes share, and that outlive them. */
export const SHARED_STORES = [sqliteFile, postgres]
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

type Parts = { execute: TestDatabase['execute']; remove: () => Promise<void> }

function database(url: string, { execute, remove }: Parts): TestDatabase {
  const opened = new Set<Tidemark>()
  return {
    url,
    execute,
    async open(options) {
      const tm = await open(url, { logger: SILENT, ...options })
      opened.add(tm)
      return tm
    },
    async expireLeases() {
      await execute(EXPIRE)
    },
    async [Symbol.asyncDispose]() {
      await Promise.allSettled([...opened].map(tm => tm.close()))
      await remove()
    },
  }
}
