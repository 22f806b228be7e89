/** Transactions of other libraries: those are no dependencies of the package, so its conformance suites can't have them. */
import { DatabaseSync } from 'node:sqlite'
import { drizzle } from 'drizzle-orm/node-postgres'
import { drizzle as drizzlePostgresJs } from 'drizzle-orm/postgres-js'
import knex from 'knex'
import { Kysely, PostgresDialect } from 'kysely'
import { Client, Pool } from 'pg'
import pgPromise from 'pg-promise'
import postgres from 'postgres'
import type { TransactionHandle } from 'tidemark'
import type { TestDatabase } from './stores.ts'

/** An open transaction of one library. */
type OpenTransaction = { readonly tx: TransactionHandle; end(how: 'commit' | 'rollback'): Promise<void> }
type Begin = (database: TestDatabase) => Promise<OpenTransaction>

/** How a transaction is begun, by the library of each engine. */
export const LIBRARIES: Record<string, Record<string, Begin>> = {
  SQLite: { 'a DatabaseSync': beginSqlite },
  PostgreSQL: {
    'a Client of pg': beginClient,
    'a client of a Pool of pg': beginPoolClient,
    'an object with query(text, values)': beginQuery,
    'sql.begin of postgres.js': beginPostgresJs,
    'a transaction of Kysely': beginKysely,
    'a transaction of Drizzle on pg': beginDrizzle,
    'a transaction of Drizzle on postgres.js': beginDrizzlePostgresJs,
    'a transaction of Knex': beginKnex,
    'a transaction of pg-promise': beginPgPromise,
  },
}

export async function beginSqlite({ url }: TestDatabase): Promise<OpenTransaction> {
  const db = new DatabaseSync(url.slice('sqlite:'.length))
  db.exec('begin immediate')
  return {
    tx: db,
    async end(how) {
      db.exec(how)
      db.close()
    },
  }
}

export async function beginClient({ url }: TestDatabase): Promise<OpenTransaction> {
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query('begin')
  return {
    tx: client,
    async end(how) {
      await client.query(how)
      await client.end()
    },
  }
}

async function beginPoolClient({ url }: TestDatabase): Promise<OpenTransaction> {
  const pool = new Pool({ connectionString: url })
  const client = await pool.connect()
  await client.query('begin')
  return {
    tx: client,
    async end(how) {
      await client.query(how)
      client.release()
      await pool.end()
    },
  }
}

async function beginQuery(database: TestDatabase): Promise<OpenTransaction> {
  const { tx, end } = await beginClient(database)
  return { tx: { query: (text: string, values: unknown[]) => (tx as Client).query(text, values) }, end }
}

async function beginPostgresJs({ url }: TestDatabase): Promise<OpenTransaction> {
  const sql = postgres(url, { onnotice: () => {} })
  const { tx, end } = await inCallback(work => sql.begin(transaction => work(transaction)))
  return { tx, end: how => end(how).finally(() => sql.end()) }
}

async function beginKysely({ url }: TestDatabase): Promise<OpenTransaction> {
  const kysely = new Kysely({ dialect: new PostgresDialect({ pool: new Pool({ connectionString: url }) }) })
  const { tx, end } = await inCallback(work => kysely.transaction().execute(transaction => work(transaction)))
  return { tx, end: how => end(how).finally(() => kysely.destroy()) }
}

async function beginDrizzle({ url }: TestDatabase): Promise<OpenTransaction> {
  const pool = new Pool({ connectionString: url })
  const { tx, end } = await inCallback(work => drizzle(pool).transaction(transaction => work(transaction)))
  return { tx, end: how => end(how).finally(() => pool.end()) }
}

async function beginDrizzlePostgresJs({ url }: TestDatabase): Promise<OpenTransaction> {
  const sql = postgres(url, { onnotice: () => {} })
  const { tx, end } = await inCallback(work => drizzlePostgresJs(sql).transaction(transaction => work(transaction)))
  return { tx, end: how => end(how).finally(() => sql.end()) }
}

async function beginKnex({ url }: TestDatabase): Promise<OpenTransaction> {
  const instance = knex({ client: 'pg', connection: url })
  const { tx, end } = await inCallback(work => instance.transaction(transaction => work(transaction)))
  return { tx, end: how => end(how).finally(() => instance.destroy()) }
}

async function beginPgPromise({ url }: TestDatabase): Promise<OpenTransaction> {
  const db = pgPromise({ noWarnings: true })(url)
  const { tx, end } = await inCallback(work => db.tx(transaction => work(transaction)))
  return { tx, end: how => end(how).finally(() => db.$pool.end()) }
}

/** Libraries that give a transaction to a callback commit when it returns and roll back when it throws. */
async function inCallback(
  run: (work: (tx: TransactionHandle) => Promise<void>) => Promise<unknown>,
): Promise<OpenTransaction> {
  const opened = Promise.withResolvers<unknown>()
  const ended = Promise.withResolvers<void>()
  const running = run(async tx => {
    // In an object, because the transaction of postgres.js is itself a function with a `then` of sorts.
    opened.resolve({ tx })
    await ended.promise
  })
  running.catch(opened.reject)
  const { tx } = (await opened.promise) as { tx: TransactionHandle }
  return {
    tx,
    async end(how) {
      if (how === 'commit') ended.resolve()
      else ended.reject(new Error('rolled back on purpose'))
      await running.catch(error => {
        if (how === 'commit') throw error
      })
    },
  }
}
