/** The built-in stores under test. One suite for all: what holds on one holds on every other. */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Client } from 'pg'
import { migratedDatabase, temporaryFolder } from '../../../../testing/databases.ts'
import { isFast } from '../../../../testing/fast.ts'
import { startPostgres } from '../../../../testing/postgres-server.ts'
import { until } from '../../../../testing/until.ts'
import type {
  ConformanceDatabase,
  ConformanceStore,
  ConformanceStores,
} from '../../src/conformance/conformance-store.ts'
import type { ConformanceLock, ConformanceTransaction } from '../../src/conformance/hooks.ts'
import { testDatabase } from '../../src/conformance/test-database.ts'
import { engineHooks, type Statement } from './engine-hooks.ts'

export { SILENT } from '../../src/conformance/test-database.ts'
export type { Statement } from './engine-hooks.ts'

export type TestDatabase = ConformanceDatabase & {
  /** For tests of an engine's own tables: each store's own statement for it. */
  execute(statement: Statement): Promise<Record<string, unknown>[]>
}

type TestStore = Omit<ConformanceStore, 'fresh'> & {
  readonly name: 'SQLite' | 'SQLite in memory' | 'PostgreSQL'
  fresh(): Promise<TestDatabase>
}

const sqliteFile: TestStore = {
  name: 'SQLite',
  lacks: { 'concurrent transactions': 'SQLite has one writer at a time' },
  async fresh() {
    const folder = temporaryFolder()
    const path = join(folder.path, 'app.db')
    const execute = async ({ sqlite }: Statement) => executeSqlite(path, sqlite)
    const database = testDatabase(`sqlite:${path}`, {
      ...engineHooks(execute),
      lock: async () => lockSqlite(path),
      begin: async () => beginSqlite(path),
      remove: async () => folder[Symbol.dispose](),
    })
    return { ...database, execute }
  },
}

const sqliteMemory: TestStore = {
  name: 'SQLite in memory',
  async fresh() {
    const execute = () => Promise.reject(new Error('Nobody else can reach a database in memory'))
    return { ...testDatabase('sqlite::memory:', { remove: async () => {} }), execute }
  },
}

const WITH_GAPS = { 'exact counts': 'an id that was drawn may come to nothing' }

const postgres: TestStore = {
  name: 'PostgreSQL',
  lacks: WITH_GAPS,
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
  lacks: WITH_GAPS,
  async fresh() {
    ownServer ??= startPostgres().then(server => server.url)
    const { url, drop } = await migratedDatabase(await ownServer)
    return postgresDatabase(url, drop)
  },
}

function postgresDatabase(url: string, remove: () => Promise<void>): TestDatabase {
  const session = new Session(url)
  const execute = ({ postgres }: Statement) => session.execute(postgres)
  const database = testDatabase(url, {
    ...engineHooks(execute),
    lock: () => lockPostgres(url),
    begin: () => beginPostgres(url),
    cleanUpWaits: async () => (await session.execute(UNFINISHED)).length > 0,
    trackingWaits: async what => (await session.execute(what === 'to be filled' ? UNFILLED : UNCLEARED)).length > 0,
    settlesDown: () => settlesDown(session),
    async remove() {
      await session.end()
      await remove()
    },
  })
  return { ...database, execute }
}

/** Those that several instances and processes share, and that outlive them. */
export const SHARED_STORES = [sqliteFile, postgres]
/** Nobody else's transactions are in these. */
export const SECLUDED_STORES = [sqliteFile, secludedPostgres]
export const STORES = [...SHARED_STORES, sqliteMemory]

/** What the conformance suites run on. */
export const BUILT_IN: ConformanceStores = isFast
  ? { stores: [sqliteFile], shared: [sqliteFile], secluded: [sqliteFile] }
  : { stores: STORES, shared: SHARED_STORES, secluded: SECLUDED_STORES }

/** The row of a group, as it is stored: for tests of an engine's own columns. */
export async function subscriptionOf(database: TestDatabase, group: string): Promise<Record<string, unknown>> {
  const [row] = await database.execute({
    sqlite: `select * from tidemark_subscription where group_name = '${group}'`,
    postgres: `select * from tidemark.subscription where group_name = '${group}'`,
  })
  if (row === undefined) throw new Error(`There is no group '${group}'`)
  return row
}

export async function executePostgres(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}

/** One connection for all statements of a test: connecting costs more than any of them. */
class Session {
  readonly #url: string
  #client: Promise<Client> | undefined

  constructor(url: string) {
    this.#url = url
  }

  async execute(sql: string): Promise<Record<string, unknown>[]> {
    this.#client ??= this.#connect()
    const result = await (await this.#client).query(sql)
    return (Array.isArray(result) ? result.at(-1) : result).rows
  }

  async end(): Promise<void> {
    await this.#client?.then(client => client.end())
  }

  async #connect(): Promise<Client> {
    const client = new Client({ connectionString: this.#url })
    // The server was stopped; the next statement connects again.
    client.on('error', () => {
      this.#client = undefined
    })
    await client.connect()
    return client
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

function lockSqlite(path: string): ConformanceLock {
  const db = new DatabaseSync(path, { timeout: 5_000 })
  db.exec('begin immediate')
  // SQLite does not tell who waits; the waiting instance's metrics do.
  return { isWaitedFor: async () => false, [Symbol.asyncDispose]: async () => db.close() }
}

async function lockPostgres(url: string): Promise<ConformanceLock> {
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

function beginSqlite(path: string): ConformanceTransaction {
  const db = new DatabaseSync(path, { timeout: 5_000 })
  db.exec('begin immediate')
  const end = async (how: string): Promise<void> => {
    db.exec(how)
    db.close()
  }
  return { tx: db, commit: () => end('commit'), rollBack: () => end('rollback') }
}

async function beginPostgres(url: string): Promise<ConformanceTransaction> {
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query('begin')
  const end = async (how: string): Promise<void> => {
    await client.query(how)
    await client.end()
  }
  return { tx: client, commit: () => end('commit'), rollBack: () => end('rollback') }
}

const UNFINISHED = 'select from tidemark.partition where sealed_at is null or dropping_since is not null limit 1'

const UNFILLED = 'select from tidemark.topic where fill_next_id is not null limit 1'

const UNCLEARED = `
  select from tidemark.bit_wipe
  union all
  select from tidemark.subscription
  where bit is not null and status in ('DEAD', 'CANCELLED') and cleared_epoch < epoch
  limit 1`

const HORIZON = `
  select pg_snapshot_xmin(pg_current_snapshot())::text as oldest, pg_snapshot_xmax(pg_current_snapshot())::text as next`

/** Whether all transactions that are open now end soon; a watermark may stay behind one that doesn't. */
async function settlesDown(session: Session): Promise<boolean> {
  const look = async (): Promise<{ oldest: bigint; next: bigint }> => {
    const [row] = await session.execute(HORIZON)
    return { oldest: BigInt(String(row?.oldest)), next: BigInt(String(row?.next)) }
  }
  const { next } = await look()
  return await until(async () => (await look()).oldest >= next, {
    what: 'open transactions to end',
    timeout: 5_000,
  }).then(
    () => true,
    () => false,
  )
}
