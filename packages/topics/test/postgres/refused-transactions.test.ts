import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import { drizzle } from 'drizzle-orm/node-postgres'
import knex from 'knex'
import { Kysely, PostgresDialect } from 'kysely'
import pgPromise from 'pg-promise'
import postgres from 'postgres'
import { open, TransactionError, type TransactionHandle } from 'tidemark'
import { connected, counting, poolAt, stored, withTopic } from './caller-clients.ts'

describe('an unusable transaction', () => {
  type Case = (
    url: string,
    refused: (tx: TransactionHandle | undefined, message: RegExp) => Promise<void>,
  ) => Promise<void>
  const cases: Record<string, Case> = {
    'is aborted': async (url, refused) => {
      await using client = await connected(url)
      await client.query('begin')
      await client.query('select 1 / 0').catch(() => undefined)
      await refused(client, /aborted, because an earlier statement.*Roll it back/)
      await refused(counting(client), /aborted/)
      await client.query('commit')
    },
    'is read-only': async (url, refused) => {
      await using client = await connected(url)
      for (const tx of [client, counting(client)]) {
        await client.query('begin read only')
        await refused(tx, /read-only.*READ WRITE/)
        await client.query('rollback')
      }
    },
    'commits before a publish that was not awaited': async (url, refused) => {
      await using client = await connected(url)
      for (const tx of [client, counting(client)]) {
        await client.query('begin')
        const committed = client.query('commit')
        await refused(tx, /no transaction open/)
        await committed
      }
    },
    'belongs to a closed client': async (url, refused) => {
      const client = await connected(url)
      await client.query('begin')
      await client.end()
      await refused(client, /can't be used: Client was closed/)
    },
    'has ended, in Kysely': async (connectionString, refused) => {
      const db = new Kysely({ dialect: new PostgresDialect({ pool: poolAt(connectionString) }) })
      const kept: { tx?: TransactionHandle } = {}
      await db.transaction().execute(async tx => {
        kept.tx = tx
      })
      await refused(kept.tx, /transaction/i)
      await db.destroy()
    },
    'has ended, in Drizzle': async (connectionString, refused) => {
      const pool = poolAt(connectionString)
      const kept: { tx?: TransactionHandle } = {}
      await drizzle(pool).transaction(async tx => {
        kept.tx = tx
      })
      await refused(kept.tx, /no transaction open/)
      await pool.end()
    },
    'has ended, in Knex': async (connection, refused) => {
      const instance = knex({ client: 'pg', connection })
      const kept: { tx?: TransactionHandle } = {}
      await instance.transaction(async tx => {
        kept.tx = tx
      })
      await refused(kept.tx, /already complete/)
      await instance.destroy()
    },
    'has ended, in pg-promise': async (url, refused) => {
      const db = pgPromise({ noWarnings: true })(url)
      const kept: { tx?: TransactionHandle } = {}
      await db.tx(async tx => {
        kept.tx = tx
      })
      await refused(kept.tx, /can't be used/)
      await db.$pool.end()
    },
    'has ended, in postgres.js': async (url, refused) => {
      const sql = postgres(url, { onnotice: () => {} })
      const kept: { tx?: TransactionHandle } = {}
      await sql.begin(async tx => {
        kept.tx = tx
      })
      await refused(kept.tx, /transaction/)
      await sql.end()
    },
    'belongs to another engine': async (_url, refused) => {
      using db = new DatabaseSync(':memory:')
      db.exec('begin')
      await refused(db, /not a transaction this store can use/)
    },
    'has a snapshot from before the topic was created': async (url, refused) => {
      await using client = await connected(url)
      await client.query('begin isolation level repeatable read')
      await client.query('select 1')
      await using tm = await open(url)
      await tm.admin.deleteTopic('work')
      await tm.configureTopic('work')
      await refused(client, /began before the topic 'work' was created/)
    },
  }
  for (const [what, run] of Object.entries(cases)) {
    it(`is refused, and nothing is stored: it ${what}`, { timeout: 60_000 }, async () => {
      await using world = await withTopic()
      await run(world.database.url, async (tx, message) => {
        const tm = await world.database.open()
        assert.ok(tx)
        await assert.rejects(tm.publish('work', 1, { tx }), (error: unknown) => {
          assert.ok(error instanceof TransactionError, String(error))
          assert.match(error.message, message)
          return true
        })
      })
      assert.deepEqual(await stored(world.tm), [])
    })
  }
})
