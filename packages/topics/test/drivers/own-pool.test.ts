/** `open({ postgres: pool })`: a pool that the program has for itself, in whatever state it hands out its clients. */
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { describe, it } from 'node:test'
import pg from 'pg'
import {
  DatabaseUnreachableError,
  DatabaseVersionError,
  type OpenOptions,
  OutcomeUnknownError,
  open,
  type Tidemark,
  TransactionError,
} from 'tidemark'
import { migratedDatabase } from '../../../../testing/databases.ts'
import { until } from '../../../../testing/until.ts'
import { soon } from '../../src/conformance/consuming.ts'
import { usersLock } from '../../src/stores/postgres/listener.ts'
import { executePostgres, SILENT } from '../conformance/stores.ts'
import { Network } from '../postgres/network.ts'

type World = AsyncDisposable & { readonly url: string; readonly pool: pg.Pool; readonly tm: Tidemark }

async function world(config: pg.PoolConfig = {}, options: OpenOptions = {}, through?: string): Promise<World> {
  const { url, drop } = await migratedDatabase()
  const pool = new pg.Pool({ connectionString: through ?? url, ...config })
  pool.on('error', () => {})
  const tm = await open({ postgres: pool }, { logger: SILENT, ...options })
  return {
    url,
    pool,
    tm,
    async [Symbol.asyncDispose]() {
      await tm.close({ timeout: '1s' })
      if (!pool.ending) await pool.end()
      await drop()
    },
  }
}

/** One message through everything: published, claimed, settled. */
async function roundTrip(tm: Tidemark): Promise<void> {
  await tm.publish('work', 'hello')
  const delivery = await tm.reader('work').receive()
  assert.equal(delivery.payload, 'hello')
  await delivery.ack()
}

describe("the program's own pool", () => {
  it('is used, and is not ended with Tidemark', async () => {
    await using w = await world()
    await roundTrip(w.tm)
    await w.tm.close()
    assert.equal((await w.pool.query<{ one: number }>('select 1 as one')).rows[0]?.one, 1)
    await until(() => w.pool.idleCount === w.pool.totalCount, { what: 'every client to be back' })
  })

  it('may come from another copy of pg', async () => {
    const { url, drop } = await migratedDatabase()
    const require = createRequire(import.meta.url)
    for (const path of Object.keys(require.cache)) if (/node_modules\/pg/.test(path)) delete require.cache[path]
    const other = require('pg') as typeof pg
    assert.notEqual(other.Pool, pg.Pool)
    const pool = new other.Pool({ connectionString: url })
    pool.on('error', () => {})
    const tm = await open({ postgres: pool }, { logger: SILENT })
    await roundTrip(tm)
    await tm.close()
    await pool.end()
    await drop()
  })

  it('serves two namespaces, whose prepared statements have names of their own', async () => {
    await using w = await world({ max: 3 })
    await using other = await open({ postgres: w.pool }, { namespace: 'other', logger: SILENT })
    await roundTrip(w.tm)
    await roundTrip(other)
    await roundTrip(w.tm)
  })

  it('of one connection does not deadlock: it polls, and LISTEN holds no connection', async () => {
    const warnings: string[] = []
    const logger = { ...SILENT, warn: (_: object, text: string) => void warnings.push(text) }
    await using w = await world({ max: 1 }, { logger })
    await roundTrip(w.tm)
    assert.match(warnings.join('\n'), /^LISTEN is not used/)
    await until(() => w.pool.idleCount === 1, { what: 'the only client to be back' })
  })
})

/** Whoever listens holds the lock that tells of an open namespace. */
const LISTENERS = `
  select pid from pg_locks
  where locktype = 'advisory' and granted and (classid::bigint << 32) | objid::bigint = ${usersLock('tidemark')}
    and database = (select oid from pg_database where datname = current_database())`

describe('wake-ups on a pool', () => {
  it('are heard on one of its connections, and on another after that one was lost', async () => {
    await using w = await world({ max: 4 }, { sweepInterval: '1h' })
    await using there = await open(w.url, { logger: SILENT })
    await there.configureTopic('work', {})
    const received: unknown[] = []
    const group = w.tm.consumerGroup('work', 'g')
    group.addConsumer('c', async ({ payload }) => void received.push(payload))
    await group.start()
    await there.publish('work', 1)
    await until(() => received.length === 1, { what: 'the first message' })
    const before = (await w.pool.query<{ pid: number }>(LISTENERS)).rows.map(({ pid }) => pid)
    assert.equal(before.length, 2)
    await w.pool.query('select pg_terminate_backend(pid) from unnest($1::int[]) as pid', [before])
    const listensAgain = async (): Promise<boolean> => {
      const { rows } = await w.pool.query<{ pid: number }>(LISTENERS)
      return rows.length === 2 && rows.every(({ pid }) => !before.includes(pid))
    }
    await until(listensAgain, { what: 'both to listen again' })
    await there.publish('work', 2)
    await until(() => received.length === 2, { what: 'the second message' })
  })
})

/** What a pool may have been set up with, as the options of its connections. */
const SETTINGS: Record<string, string> = {
  'READ ONLY transactions by default': '-c default_transaction_read_only=on',
  'SERIALIZABLE transactions by default': '-c default_transaction_isolation=serializable',
  'a search_path of its own': '-c search_path=nowhere',
}

describe('a pool that is set up for', () => {
  for (const [what, options] of Object.entries(SETTINGS)) {
    it(`${what} works, and its settings stay`, async () => {
      await using w = await world({ options, max: 2 })
      await roundTrip(w.tm)
      const name = options.replace(/^-c (.*)=.*$/, '$1')
      const { rows } = await w.pool.query<Record<string, string>>(`show ${name}`)
      assert.equal(rows[0]?.[name], options.replace(/^.*=/, ''))
    })
  }

  it('another isolation level still has Tidemark write at READ COMMITTED', async () => {
    await using w = await world({ options: '-c default_transaction_isolation=serializable' })
    const client = new pg.Client(w.url)
    await client.connect()
    await client.query(`
      create table seen (level text);
      create function see() returns trigger language plpgsql as
        $$ begin insert into public.seen values (current_setting('transaction_isolation')); return null; end $$;
      create trigger see after insert or update on tidemark.lease execute function see();
      create trigger see after insert or update on tidemark.subscription execute function see()`)
    await roundTrip(w.tm)
    await w.tm.close()
    const { rows } = await client.query<{ level: string }>('select distinct level from seen')
    await client.end()
    assert.deepEqual(rows, [{ level: 'read committed' }])
  })

  it('a schema that hides functions of the server works', async () => {
    const { url, drop } = await migratedDatabase()
    const client = new pg.Client(url)
    await client.connect()
    await client.query(`
      create schema evil;
      create function evil.clock_timestamp() returns timestamptz language sql as $$ select timestamptz '1970-01-01' $$`)
    await client.end()
    const pool = new pg.Pool({ connectionString: url, options: '-c search_path=evil,pg_catalog' })
    pool.on('error', () => {})
    const tm = await open({ postgres: pool }, { logger: SILENT })
    await roundTrip(tm)
    await tm.close()
    await pool.end()
    await drop()
  })

  it('a short statement_timeout has statements of Tidemark wait longer', async () => {
    await using w = await world({ statement_timeout: 200 })
    await w.tm.publish('work', 1)
    const reader = w.tm.reader('work')
    await (await reader.receive()).ack()
    await w.tm.publish('work', 2)
    const client = new pg.Client(w.url)
    await client.connect()
    await client.query('begin; select from tidemark.subscription for update')
    const receiving = reader.receive()
    const waits =
      "select from pg_stat_activity where wait_event_type = 'Lock' and clock_timestamp() - query_start > '400ms'"
    await until(async () => (await client.query(waits)).rows.length > 0, { what: 'a claim that waits for long' })
    await client.query('commit')
    await client.end()
    assert.equal((await receiving).payload, 2)
  })

  it('a role without rights is told what it lacks', async () => {
    const { url, drop } = await migratedDatabase()
    const admin = new pg.Client(url)
    await admin.connect()
    await admin.query('create role poor_of_pools')
    const pool = new pg.Pool({ connectionString: url, options: '-c role=poor_of_pools' })
    pool.on('error', () => {})
    await assert.rejects(open({ postgres: pool }, { logger: SILENT, namespace: 'none' }), (error: unknown) => {
      assert.ok(error instanceof DatabaseVersionError)
      assert.match(error.message, /may not create it/)
      return true
    })
    await pool.end()
    await admin.query('drop role poor_of_pools')
    await admin.end()
    await drop()
  })
})

describe('a client that was returned to the pool', () => {
  it('in an aborted transaction is not used', async () => {
    await using w = await world({ max: 1 })
    const client = await w.pool.connect()
    await client.query('begin')
    await client.query('select 1 / 0').catch(() => undefined)
    client.release()
    await roundTrip(w.tm)
  })

  it('in an open transaction does not get it committed', async () => {
    await using w = await world({ max: 1 })
    await w.pool.query('create table mine (id int)')
    const client = await w.pool.connect()
    await client.query('begin')
    await client.query('insert into mine values (1)')
    client.release()
    await roundTrip(w.tm)
    assert.equal((await w.pool.query('select from mine')).rows.length, 0)
  })
})

describe('a transaction that holds the only connection', () => {
  it('publishes with tx, if and only if it commits', async () => {
    await using w = await world({ max: 1 })
    await w.tm.configureTopic('work', { partitionRows: 1_000 })
    for (const [payload, end] of Object.entries({ kept: 'commit', lost: 'rollback' })) {
      const tx = await w.pool.connect()
      await tx.query('begin')
      await w.tm.publish('work', payload, { tx })
      await tx.query(end)
      tx.release()
    }
    const reader = w.tm.reader('work')
    assert.equal((await reader.receive()).payload, 'kept')
    assert.equal(await reader.poll(0), null)
  })

  it('makes the partitions that its messages need', async () => {
    await using w = await world({ max: 1 })
    await w.tm.configureTopic('work', { partitionRows: 1_000 })
    const tx = await w.pool.connect()
    await tx.query('begin')
    const refs = await w.tm.publishBatch(
      'work',
      Array.from({ length: 3_500 }, (_, index) => index),
      { tx },
    )
    await tx.query('commit')
    tx.release()
    assert.equal(refs.length, 3_500)
    await w.tm.publish('work', 'after')
  })

  it('is told to create the topic first, and then finds it', async () => {
    await using w = await world({ max: 1 })
    const tx = await w.pool.connect()
    await tx.query('begin')
    await assert.rejects(w.tm.publish('new', 1, { tx }), (error: unknown) => {
      assert.ok(error instanceof TransactionError)
      assert.match(error.message, /configureTopic\('new'\) before/)
      return true
    })
    await tx.query('rollback')
    tx.release()
    await using other = await open(w.url, { logger: SILENT })
    await other.configureTopic('new', {})
    const again = await w.pool.connect()
    await again.query('begin')
    await w.tm.publish('new', 1, { tx: again })
    await again.query('commit')
    again.release()
  })

  it('makes publishes without it fail in time, with nothing stored', async () => {
    await using w = await world({ max: 1 }, { statementTimeout: '200ms' })
    await w.tm.configureTopic('work', {})
    const holder = await w.pool.connect()
    await assert.rejects(w.tm.publish('work', 1), (error: unknown) => {
      assert.ok(error instanceof DatabaseUnreachableError)
      assert.match(String(error.cause), /one connection of pg was in use for 200 ms/)
      return true
    })
    holder.release()
    await w.tm.publish('work', 2)
    assert.equal((await w.tm.reader('work').receive()).payload, 2)
  })
})

describe('a pool that is ended underneath', () => {
  it('is not kept open by the connection that listens, is reported, and lets Tidemark close', async () => {
    await using w = await world()
    const group = w.tm.consumerGroup('work', 'g')
    group.addConsumer('c', async () => {})
    await w.tm.configureTopic('work', {})
    await group.start()
    const ended = w.pool.end()
    await assert.rejects(w.tm.publish('work', 1), (error: unknown) => {
      assert.ok(error instanceof DatabaseUnreachableError)
      assert.match(String(error.cause), /pool/)
      return true
    })
    await ended
  })
})

describe('a pool whose connections fall silent', () => {
  it('gives up a call that may take minutes, when the server has long done it', async () => {
    const { url, drop } = await migratedDatabase()
    await using network = await Network.to(url)
    const w = await world({ max: 4 }, { statementTimeout: '2s', maintenance: false }, network.url)
    await w.tm.configureTopic('events', { semantics: 'pub-sub' })
    await (await w.tm.reader('events', { group: 'g' }).ready()).close()
    const holder = new pg.Client({ connectionString: url })
    await holder.connect()
    await holder.query('begin; select from tidemark.subscription for update')
    const refused = assert.rejects(w.tm.admin.resetGroup('events', 'g', 'beginning'), DatabaseUnreachableError)
    const waiting = "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
    const hasWaiting = async (): Promise<boolean> => (await executePostgres(url, waiting)).length > 0
    await until(hasWaiting, { what: 'the call to wait' })
    network.cut()
    await holder.query('rollback')
    await until(async () => !(await hasWaiting()), { what: 'the server to answer' })
    network.forget()
    await soon(refused, 'the call to be given up')
    await holder.end()
    await w[Symbol.asyncDispose]()
    await drop()
  })

  it('delays a publish for one deadline; its outcome is unknown, and the next one works', async () => {
    const { url, drop } = await migratedDatabase()
    await using network = await Network.to(url)
    const w = await world({ max: 2 }, { statementTimeout: '1s' }, network.url)
    await w.tm.publish('work', 1)
    network.cut()
    await assert.rejects(w.tm.publish('work', 2), (error: unknown) => {
      assert.ok(error instanceof OutcomeUnknownError || error instanceof DatabaseUnreachableError)
      return true
    })
    network.heal()
    await until(
      () =>
        w.tm.publish('work', 3).then(
          () => true,
          () => false,
        ),
      { what: 'a publish that works again' },
    )
    await w[Symbol.asyncDispose]()
    await drop()
  })
})
