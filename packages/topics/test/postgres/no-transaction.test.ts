import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { describe, it } from 'node:test'
import { drizzle } from 'drizzle-orm/node-postgres'
import { drizzle as drizzlePostgresJs } from 'drizzle-orm/postgres-js'
import knex from 'knex'
import { Kysely, PostgresDialect } from 'kysely'
import type pg from 'pg'
import { Client, Pool } from 'pg'
import pgPromise from 'pg-promise'
import postgres from 'postgres'
import { type PublishOptions, TransactionError, type TransactionHandle } from 'tidemark'
import { SHARED_STORES } from '../conformance/stores.ts'

const require = createRequire(import.meta.url)
const [store] = SHARED_STORES.filter(({ name }) => name === 'PostgreSQL')
const fresh = () => store?.fresh() ?? Promise.reject(new Error('There is no PostgreSQL'))

/** Connected objects that have no transaction open, as a caller might pass by mistake; `end` closes them. */
type Connected = { readonly tx: TransactionHandle; end(): Promise<unknown> }

const none: Record<string, (url: string) => Promise<Connected>> = {
  'a pg Client outside a transaction': async url => {
    const client = new Client({ connectionString: url })
    await client.connect()
    return { tx: client, end: () => client.end() }
  },
  'a pg Client whose transaction has ended': async url => {
    const client = new Client({ connectionString: url })
    await client.connect()
    await client.query('begin')
    await client.query('create table if not exists note (words text)')
    await client.query('commit')
    return { tx: client, end: () => client.end() }
  },
  'a pg Client whose transaction was rolled back': async url => {
    const client = new Client({ connectionString: url })
    await client.connect()
    await client.query('begin')
    await client.query('savepoint one')
    await client.query('rollback')
    return { tx: client, end: () => client.end() }
  },
  'a pg Pool': async connectionString => poolOf(new Pool({ connectionString })),
  'the Pool of another copy of pg': async connectionString =>
    poolOf(new (createRequire(require.resolve('pg-promise'))('pg') as typeof pg).Pool({ connectionString })),
  'an object with query(text, values) that is a pool underneath': async connectionString => {
    const pool = new Pool({ connectionString })
    return { ...poolOf(pool), tx: { query: (text: string, values: unknown[]) => pool.query(text, values) } }
  },
  'the sql of postgres.js': async url => {
    const instance = postgres(url, { onnotice: () => {} })
    return { tx: instance, end: () => instance.end() }
  },
  'a reserved connection of postgres.js': async url => {
    const instance = postgres(url, { onnotice: () => {} })
    const reserved = await instance.reserve()
    return {
      tx: reserved,
      end: async () => {
        reserved.release()
        await instance.end()
      },
    }
  },
  'the db of Drizzle on pg': async connectionString => {
    const { tx: pool, end } = poolOf(new Pool({ connectionString }))
    return { tx: drizzle(pool as Pool), end }
  },
  'the db of Drizzle on postgres.js': async url => {
    const instance = postgres(url, { onnotice: () => {} })
    return { tx: drizzlePostgresJs(instance), end: () => instance.end() }
  },
  'the db of Kysely': async connectionString => {
    const db = new Kysely({ dialect: new PostgresDialect({ pool: new Pool({ connectionString }) }) })
    return { tx: db, end: () => db.destroy() }
  },
  'the knex of Knex': async connection => {
    const instance = knex({ client: 'pg', connection })
    return { tx: instance, end: () => instance.destroy() }
  },
  'the db of pg-promise': async url => {
    const db = pgPromise({ noWarnings: true })(url)
    return { tx: db, end: async () => db.$pool.end() }
  },
}

function poolOf(pool: Pool): Connected {
  // The database is dropped while connections may still be closing.
  pool.on('error', () => {})
  return { tx: pool, end: () => pool.end() }
}

describe('a tx that has no transaction open', () => {
  for (const [what, connect] of Object.entries(none)) {
    it(`is refused, and nothing is stored: ${what}`, async () => {
      await using database = await fresh()
      const tm = await database.open()
      for (const tracking of ['offset', 'reference'] as const) {
        await tm.configureTopic(tracking, { semantics: 'pub-sub', tracking })
        const { tx, end } = await connect(database.url)
        try {
          for (const options of [{ tx }, { tx, messageId: 'm' }]) {
            await assert.rejects(tm.publish(tracking, 1, options), isRefusal)
          }
          await assert.rejects(tm.publishBatch(tracking, [1, 2], { tx }), isRefusal)
          await assert.rejects(tm.publishMessages(tracking, [{ payload: 1, key: 'k' }], { tx }), isRefusal)
          await assert.rejects(tm.publish('made-on-the-way', 1, { tx }), isRefusal)
        } finally {
          await end()
        }
        assert.deepEqual((await tm.admin.browse(tracking)).messages, [])
      }
      assert.deepEqual((await tm.admin.topics()).map(({ topic }) => topic).toSorted(), ['offset', 'reference'])
      assert.equal((await tm.publish('offset', 1, { messageId: 'm' })).duplicate, false)
    })
  }
})

const isRefusal = (error: unknown): boolean => {
  assert.ok(error instanceof TransactionError, String(error))
  assert.equal(error.code, 'TIDEMARK_TRANSACTION')
  return true
}

/** Checked by the compiler: none of these needs a look at the server. */
export const notTransactions: readonly PublishOptions[] = [
  // @ts-expect-error a text
  { tx: 'begin' },
  // @ts-expect-error a number
  { tx: 1 },
  // @ts-expect-error null
  { tx: null },
  // @ts-expect-error an object without a method of any library
  { tx: {} },
  // @ts-expect-error a promise of a transaction, which somebody forgot to await
  { tx: Promise.resolve(new Client()) },
]
