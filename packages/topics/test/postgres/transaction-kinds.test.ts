import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Kysely, sql as kyselySql, PostgresDialect } from 'kysely'
import postgres from 'postgres'
import { open, TransactionError } from 'tidemark'
import { startPostgres } from '../../../../testing/postgres-server.ts'
import { consume } from '../../src/conformance/consuming.ts'
import { connected, counting, poolAt, stored, withTopic } from './caller-clients.ts'

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

  it('is accepted while its BEGIN is still in flight', async () => {
    await using world = await withTopic()
    await using client = await connected(world.database.url)
    const began = client.query('begin')
    await world.tm.publish('work', 1, { tx: client })
    await began
    await client.query('commit')
    assert.deepEqual(await stored(world.tm), [1])
  })

  it('is accepted if it was begun by hand on one connection of Kysely or postgres.js', async () => {
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

  it('takes concurrent publishes', async () => {
    await using world = await withTopic()
    await using client = await connected(world.database.url)
    await client.query('begin')
    const tx = counting(client)
    const numbers = [1, 2, 3, 4, 5, 6]
    await Promise.all(numbers.map(number => world.tm.publish('work', number, { tx })))
    await client.query('commit')
    assert.deepEqual((await stored(world.tm)).toSorted(), numbers)
  })

  it('costs one statement per publish, and two for the first if the transaction has not written', async () => {
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
