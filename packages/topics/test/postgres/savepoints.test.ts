import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { drizzle } from 'drizzle-orm/node-postgres'
import knex from 'knex'
import { Kysely, PostgresDialect } from 'kysely'
import pgPromise from 'pg-promise'
import postgres from 'postgres'
import type { TransactionHandle } from 'tidemark'
import { connected, poolAt, stored, withTopic } from './caller-clients.ts'

describe('a savepoint', () => {
  type Nested = (url: string, publish: (tx: TransactionHandle, payload: string) => Promise<unknown>) => Promise<void>
  const undone = new Error('undone on purpose')
  const isUndone = (error: unknown): void => {
    if (error !== undone) throw error
  }
  const libraries: Record<string, Nested> = {
    pg: async (url, publish) => {
      await using client = await connected(url)
      await client.query('begin')
      await publish(client, 'kept')
      await client.query('savepoint inner_one')
      await publish(client, 'undone')
      await client.query('rollback to savepoint inner_one')
      await client.query('commit')
    },
    'postgres.js': async (url, publish) => {
      const sql = postgres(url, { onnotice: () => {} })
      await sql.begin(async tx => {
        await publish(tx, 'kept')
        await tx
          .savepoint(async inner => {
            await publish(inner, 'undone')
            throw undone
          })
          .catch(isUndone)
      })
      await sql.end()
    },
    Kysely: async (connectionString, publish) => {
      const db = new Kysely({ dialect: new PostgresDialect({ pool: poolAt(connectionString) }) })
      const tx = await db.startTransaction().execute()
      await publish(tx, 'kept')
      const inner = await tx.savepoint('inner_one').execute()
      await publish(inner, 'undone')
      await inner.rollbackToSavepoint('inner_one').execute()
      await tx.commit().execute()
      await db.destroy()
    },
    Drizzle: async (connectionString, publish) => {
      const pool = poolAt(connectionString)
      await drizzle(pool).transaction(async tx => {
        await publish(tx, 'kept')
        await tx
          .transaction(async inner => {
            await publish(inner, 'undone')
            throw undone
          })
          .catch(isUndone)
      })
      await pool.end()
    },
    Knex: async (connection, publish) => {
      const instance = knex({ client: 'pg', connection })
      await instance.transaction(async tx => {
        await publish(tx, 'kept')
        await tx
          .transaction(async inner => {
            await publish(inner, 'undone')
            throw undone
          })
          .catch(isUndone)
      })
      await instance.destroy()
    },
    'pg-promise': async (url, publish) => {
      const db = pgPromise({ noWarnings: true })(url)
      await db.tx(async tx => {
        await publish(tx, 'kept')
        await tx
          .tx(async inner => {
            await publish(inner, 'undone')
            throw undone
          })
          .catch(isUndone)
      })
      await db.$pool.end()
    },
  }
  for (const [library, run] of Object.entries(libraries)) {
    it(`rolls back what was published in it: ${library}`, async () => {
      await using world = await withTopic()
      await run(world.database.url, (tx, payload) => world.tm.publish('work', payload, { tx }))
      assert.deepEqual(await stored(world.tm), ['kept'])
    })
  }
})
