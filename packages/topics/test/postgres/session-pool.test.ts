import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Client } from 'pg'
import { until } from '../../../../testing/until.ts'
import { codeOf } from '../../src/stores/postgres/database-errors.ts'
import { Session } from '../../src/stores/postgres/session.ts'
import { SessionPool, type SessionPoolOptions } from '../../src/stores/postgres/session-pool.ts'
import { admin, server, useServer } from './store-bench.ts'

useServer()

function poolOf(options: Partial<SessionPoolOptions> = {}, urlOf = () => server.url) {
  const errors: unknown[] = []
  const made: Session[] = []
  const make = (): Session => {
    const client = () => new Client({ connectionString: urlOf() })
    const session = new Session({ client, limitMs: 10_000, onSilence: () => {} })
    made.push(session)
    return session
  }
  const onIdleError = (error: unknown): void => void errors.push(error)
  const pool = new SessionPool({ size: 2, waitMs: 10_000, make, onIdleError, ...options })
  return {
    pool,
    made,
    errors,
    async [Symbol.asyncDispose]() {
      pool.close()
      await Promise.all(made.map(session => session.leave()))
    },
  }
}

const pidOf = async (session: Session): Promise<string> => {
  const [row] = await session.query({ text: 'select pg_backend_pid() as pid', values: [] })
  return row?.pid ?? ''
}

describe('a pool of connections', () => {
  it('makes one only if none is free, and lends the one used last', async () => {
    await using here = poolOf()
    const { pool } = here
    const first = await pool.acquire()
    const second = await pool.acquire()
    pool.release(first, false)
    pool.release(second, false)
    assert.equal(pool.acquire(), second)
    assert.equal(pool.acquire(), first)
    assert.equal(here.made.length, 2)
  })

  it('lends no more than its size, to whoever has waited longest', async () => {
    await using here = poolOf({ size: 1 })
    const { pool } = here
    const only = await pool.acquire()
    const order: string[] = []
    const waiting = ['one', 'two'].map(async name => {
      const session = await pool.acquire()
      order.push(name)
      pool.release(session, false)
    })
    assert.deepEqual(pool.use(), { size: 1, busy: 1, waiting: 2 })
    pool.release(only, false)
    await Promise.all(waiting)
    assert.deepEqual(order, ['one', 'two'])
    assert.deepEqual(pool.use(), { size: 1, busy: 0, waiting: 0 })
    assert.equal(here.made.length, 1)
  })

  it('replaces a broken one for whoever waits', async () => {
    await using here = poolOf({ size: 1 })
    const broken = await here.pool.acquire()
    const waiting = here.pool.acquire()
    here.pool.release(broken, true)
    const fresh = await waiting
    assert.notEqual(fresh, broken)
    assert.notEqual(await pidOf(fresh), '')
  })

  it('refuses whoever has waited too long, and nobody else', async () => {
    await using here = poolOf({ size: 1, waitMs: 20 })
    const only = await here.pool.acquire()
    await assert.rejects(async () => await here.pool.acquire(), { code: 'TIDEMARK_NOT_CONNECTED' })
    here.pool.release(only, false)
    assert.equal(here.pool.acquire(), only)
  })

  it('does not lend one that broke while nobody used it', async () => {
    await using here = poolOf()
    const session = await here.pool.acquire()
    const pid = await pidOf(session)
    here.pool.release(session, false)
    await admin.query('select pg_terminate_backend($1)', [pid])
    await until(() => here.errors.length > 0, { what: 'the break to be told' })
    assert.notEqual(await pidOf(await here.pool.acquire()), pid)
    assert.deepEqual(here.pool.use(), { size: 2, busy: 1, waiting: 0 })
  })

  it('closes what nobody has used for a while, and keeps what is used', async () => {
    await using here = poolOf({ idleMs: 20 })
    const [used, unused] = [await here.pool.acquire(), await here.pool.acquire()]
    here.pool.release(unused, false)
    await until(() => unused.isGone, { what: 'the unused one to be closed' })
    assert.notEqual(await pidOf(used), '')
    here.pool.release(used, false)
    await until(() => used.isGone, { what: 'the other one to be closed' })
    assert.deepEqual(here.errors, [])
  })

  it('tells why no connection can be made, and tries again for the next', async () => {
    let url = 'postgres://postgres@127.0.0.1:1/postgres'
    await using here = poolOf({ size: 1 }, () => url)
    await assert.rejects(
      async () => await here.pool.acquire(),
      error => codeOf(error) === 'ECONNREFUSED',
    )
    assert.deepEqual(here.pool.use(), { size: 1, busy: 0, waiting: 0 })
    url = server.url
    const session = await here.pool.acquire()
    assert.notEqual(await pidOf(session), '')
    here.pool.release(session, true)
  })

  it('that is closed lends none, refuses whoever waits, and closes the last when it comes back', async () => {
    await using here = poolOf({ size: 1 })
    const only = await here.pool.acquire()
    const waiting = assert.rejects(async () => await here.pool.acquire(), { code: 'TIDEMARK_NOT_CONNECTED' })
    here.pool.close()
    await waiting
    await assert.rejects(async () => await here.pool.acquire(), { code: 'TIDEMARK_NOT_CONNECTED' })
    assert.notEqual(await pidOf(only), '')
    here.pool.release(only, false)
    await only.gone
  })
})
