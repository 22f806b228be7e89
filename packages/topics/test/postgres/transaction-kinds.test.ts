import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import { drizzle } from 'drizzle-orm/node-postgres'
import knex from 'knex'
import { Kysely, sql as kyselySql, PostgresDialect } from 'kysely'
import { Client, Pool } from 'pg'
import pgPromise from 'pg-promise'
import postgres from 'postgres'
import { open, type Tidemark, TransactionError, type TransactionHandle } from 'tidemark'
import { startPostgres } from '../../../../testing/postgres-server.ts'
import { consume } from '../../src/conformance/consuming.ts'
import { SHARED_STORES, type TestDatabase } from '../conformance/stores.ts'

const [store] = SHARED_STORES.filter(({ name }) => name === 'PostgreSQL')
const fresh = () => store?.fresh() ?? Promise.reject(new Error('There is no PostgreSQL'))

async function connected(url: string): Promise<Client & AsyncDisposable> {
  const client = new Client({ connectionString: url })
  await client.connect()
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() })
}

/** The database may be dropped while its connections are closing. */
function poolAt(connectionString: string): Pool {
  return new Pool({ connectionString }).on('error', () => {})
}

/** The client as any other library would use it, with a count of the statements that publishing sent. */
function counting(client: Client) {
  const counted = {
    statements: 0,
    query(text: string, values: unknown[]) {
      counted.statements++
      return client.query(text, values)
    },
  }
  return counted
}

const stored = async (tm: Tidemark): Promise<unknown[]> =>
  (await tm.admin.browse('work')).messages.map(({ payload }) => JSON.parse(String(payload)))

async function withTopic(): Promise<{ database: TestDatabase; tm: Tidemark } & AsyncDisposable> {
  const database = await fresh()
  const tm = await database.open()
  await tm.configureTopic('work')
  return { database, tm, [Symbol.asyncDispose]: () => database[Symbol.asyncDispose]() }
}

describe('a transaction of any kind', () => {
  const begins: Record<string, readonly string[]> = {
    'that has done nothing yet': ['begin'],
    'that has only read': ['begin', 'select count(*) from pg_class'],
    'that has written': ['begin', 'create table note (words text)'],
    'that is READ COMMITTED': ['begin isolation level read committed'],
    'that is REPEATABLE READ': ['begin isolation level repeatable read', 'select 1'],
    'that is SERIALIZABLE': ['begin isolation level serializable', 'select 1'],
    'in a savepoint': ['begin', 'savepoint one'],
    'in a savepoint of a savepoint': ['begin', 'savepoint one', 'select 1', 'savepoint two'],
    'after a savepoint that was rolled back': ['begin', 'savepoint one', 'select 1', 'rollback to savepoint one'],
    'after a savepoint that was released': ['begin', 'savepoint one', 'select 1', 'release savepoint one'],
    'of a session that is read-only otherwise': ['set default_transaction_read_only = on', 'begin read write'],
  }
  for (const [what, statements] of Object.entries(begins)) {
    it(`is accepted, and commits or rolls back: ${what}`, async () => {
      await using world = await withTopic()
      for (const end of ['commit', 'rollback']) {
        for (const asClient of [true, false]) {
          await using client = await connected(world.database.url)
          const tx = asClient ? client : counting(client)
          for (const text of statements) await client.query(text.replace('note', `note_${end}_${asClient}`))
          await world.tm.publish('work', end, { tx })
          await world.tm.publish('work', end, { tx, messageId: `${end}-${asClient}` })
          await client.query(end)
        }
      }
      assert.deepEqual(await stored(world.tm), ['commit', 'commit', 'commit', 'commit'])
    })
  }

  it('is accepted if its BEGIN is still on the way', async () => {
    await using world = await withTopic()
    await using client = await connected(world.database.url)
    const began = client.query('begin')
    await world.tm.publish('work', 1, { tx: client })
    await began
    await client.query('commit')
    assert.deepEqual(await stored(world.tm), [1])
  })

  it('is accepted where it was begun by hand on one connection of Kysely or postgres.js', async () => {
    await using world = await withTopic()
    const db = new Kysely({ dialect: new PostgresDialect({ pool: poolAt(world.database.url) }) })
    await db.connection().execute(async connection => {
      for (const end of ['commit', 'rollback']) {
        await kyselySql`begin`.execute(connection)
        await world.tm.publish('work', `${end} in Kysely`, { tx: connection })
        await kyselySql.raw(end).execute(connection)
      }
      await assert.rejects(world.tm.publish('work', 'outside', { tx: connection }), TransactionError)
    })
    await db.destroy()
    const sql = postgres(world.database.url, { onnotice: () => {} })
    const reserved = await sql.reserve()
    for (const end of ['commit', 'rollback']) {
      await reserved`begin`
      await world.tm.publish('work', `${end} in postgres.js`, { tx: reserved })
      await reserved.unsafe(end)
    }
    reserved.release()
    await sql.end()
    assert.deepEqual(await stored(world.tm), ['commit in Kysely', 'commit in postgres.js'])
  })

  it('takes publishes that are not waited for one by one', async () => {
    await using world = await withTopic()
    await using client = await connected(world.database.url)
    await client.query('begin')
    const tx = counting(client)
    const numbers = [1, 2, 3, 4, 5, 6]
    await Promise.all(numbers.map(number => world.tm.publish('work', number, { tx })))
    await client.query('commit')
    assert.deepEqual((await stored(world.tm)).toSorted(), numbers)
  })

  it('costs one statement a publish; the first of a transaction that has not written, two', async () => {
    await using world = await withTopic()
    await using client = await connected(world.database.url)
    const tx = counting(client)
    const statementsOf = async (work: () => Promise<unknown>): Promise<number> => {
      const before = tx.statements
      await work()
      return tx.statements - before
    }
    await client.query('begin')
    assert.equal(await statementsOf(() => world.tm.publish('work', 1, { tx })), 2)
    assert.equal(await statementsOf(() => world.tm.publish('work', 2, { tx })), 1)
    assert.equal(await statementsOf(() => world.tm.publishBatch('work', [3, 4], { tx })), 1)
    await client.query('commit')
    await client.query('begin')
    await client.query('create table note (words text)')
    assert.equal(await statementsOf(() => world.tm.publish('work', 5, { tx })), 1)
    await client.query('commit')
    await client.query('begin')
    // pg's client itself says that it is idle in a transaction.
    let statements = 0
    const query = client.query.bind(client) as (...args: unknown[]) => unknown
    Object.assign(client, {
      query: (...args: unknown[]) => {
        statements++
        return query(...args)
      },
    })
    await world.tm.publish('work', 6, { tx: client })
    assert.equal(statements, 1)
    await client.query('commit')
    assert.deepEqual(await stored(world.tm), [1, 2, 3, 4, 5, 6])
  })

  it('sends a large batch once, whether the transaction has written or not', async () => {
    await using world = await withTopic()
    await using client = await connected(world.database.url)
    let bytes = 0
    const tx = {
      query: (text: string, values: unknown[]) => {
        bytes += String(values[0]).length
        return client.query(text, values)
      },
    }
    await client.query('begin')
    const payloads = Array.from({ length: 20 }, () => 'x'.repeat(10_000))
    await world.tm.publishBatch('work', payloads, { tx })
    await client.query('commit')
    assert.equal((await stored(world.tm)).length, 20)
    assert.ok(bytes < 400_000, `${bytes} bytes were sent for 200 000`)
  })

  it('may be prepared and committed in a second phase', async () => {
    await using server = await startPostgres({ settings: ['max_prepared_transactions=2'] })
    await using tm = await open(server.url)
    await tm.configureTopic('work')
    await using client = await connected(server.url)
    for (const end of ['commit', 'rollback']) {
      await client.query('begin')
      await tm.publish('work', end, { tx: client })
      await client.query(`prepare transaction 'second'`)
      await assert.rejects(tm.publish('work', 'after it', { tx: client }), TransactionError)
      assert.deepEqual(await tm.admin.browse('work').then(({ messages }) => messages.length), end === 'commit' ? 0 : 1)
      await client.query(`${end} prepared 'second'`)
    }
    assert.deepEqual(await stored(tm), ['commit'])
  })

  it('may publish to topics of two namespaces', async () => {
    await using world = await withTopic()
    const other = await world.database.open({ namespace: 'other' })
    await using client = await connected(world.database.url)
    await client.query('begin')
    await world.tm.publish('work', 'here', { tx: client })
    await other.publish('work', 'there', { tx: client })
    await client.query('commit')
    assert.deepEqual(await consume(world.tm.reader('work'), 1), ['here'])
    assert.deepEqual(await consume(other.reader('work'), 1), ['there'])
  })
})

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
    it(`takes back what was published in it: ${library}`, async () => {
      await using world = await withTopic()
      await run(world.database.url, (tx, payload) => world.tm.publish('work', payload, { tx }))
      assert.deepEqual(await stored(world.tm), ['kept'])
    })
  }
})

describe('a transaction that can’t be published in', () => {
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
    'commits before the publish that was not waited for': async (url, refused) => {
      await using client = await connected(url)
      for (const tx of [client, counting(client)]) {
        await client.query('begin')
        const committed = client.query('commit')
        await refused(tx, /no transaction open/)
        await committed
      }
    },
    'was of a client that is closed': async (url, refused) => {
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
    'is of another engine': async (_url, refused) => {
      using db = new DatabaseSync(':memory:')
      db.exec('begin')
      await refused(db, /not a transaction this store can use/)
    },
    'has a snapshot from before the topic was made': async (url, refused) => {
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
