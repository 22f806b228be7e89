/** PGlite: PostgreSQL in this process, with one connection for everybody. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { PGlite } from '@electric-sql/pglite'
import { ClosedError, DatabaseError, diagnose, migrate, open, TransactionError } from 'tidemark'
import { pglite } from 'tidemark/drivers'
import { until } from '../../../../testing/until.ts'
import { SILENT } from '../conformance/stores.ts'

describe('PGlite', () => {
  let db: PGlite

  before(async () => {
    db = await PGlite.create()
  })
  after(async () => {
    if (!db.closed) await db.close()
  })

  it('is not closed with Tidemark, and can be migrated and diagnosed', async () => {
    const driver = pglite(db)
    const { found, newest } = await migrate({ driver }, { namespace: 'operated' })
    assert.deepEqual([found, newest > 0], [0, true])
    const bad = (await diagnose({ driver }, { namespace: 'operated' })).filter(({ state }) => state === 'bad')
    assert.deepEqual(bad, [])
    const tm = await open({ driver }, { logger: SILENT })
    await tm.close()
    assert.equal((await db.query<{ one: number }>('select 1 as one')).rows[0]?.one, 1)
  })

  it('wakes a second Tidemark on the same database', async () => {
    await using here = await open({ driver: pglite(db) }, { logger: SILENT, sweepInterval: '1h' })
    await using there = await open({ driver: pglite(db) }, { logger: SILENT })
    await here.configureTopic('woken', {})
    const received: unknown[] = []
    const group = here.consumerGroup('woken', 'g')
    group.addConsumer('c', async ({ payload }) => void received.push(payload))
    await group.start()
    await there.publish('woken', 1)
    await until(() => received.length === 1, { what: 'the message' })
  })

  it('publishes in a transaction of the program, if and only if that commits', async () => {
    await using tm = await open({ driver: pglite(db) }, { logger: SILENT })
    await tm.configureTopic('orders', {})
    await db.exec('create table mine (id int)')
    await db.transaction(async tx => {
      await tx.query('insert into mine values (1)')
      await tm.publish('orders', 'kept', { tx })
    })
    const failing = db.transaction(async tx => {
      await tm.publish('orders', 'lost', { tx })
      throw new Error('changed my mind')
    })
    await assert.rejects(failing, /changed my mind/)
    const reader = tm.reader('orders')
    assert.equal((await reader.receive()).payload, 'kept')
    assert.equal(await reader.poll(0), null)
  })

  it('refuses the database itself as tx, and a topic that is not there yet', async () => {
    await using tm = await open({ driver: pglite(db) }, { logger: SILENT })
    await tm.configureTopic('orders', {})
    await assert.rejects(tm.publish('orders', 1, { tx: db }), TransactionError)
    await db.transaction(async tx => {
      await assert.rejects(tm.publish('unheard-of', 1, { tx }), /configureTopic\('unheard-of'\) before/)
    })
  })

  it('makes callers wait for the connection in turn, and give up in time', async () => {
    await using tm = await open({ driver: pglite(db) }, { logger: SILENT, statementTimeout: '300ms' })
    await tm.configureTopic('turns', {})
    const held = Promise.withResolvers<void>()
    const holding = db.transaction(() => held.promise)
    await assert.rejects(tm.publish('turns', 'too late'), (error: unknown) => {
      assert.ok(error instanceof DatabaseError)
      assert.match(String(error.cause), /one connection of PGlite was in use for 300 ms.*tx/)
      return true
    })
    held.resolve()
    await holding
    await tm.publish('turns', 'in time')
    const reader = tm.reader('turns')
    assert.equal((await reader.receive()).payload, 'in time')
    assert.equal(await reader.poll(0), null)
  })

  it('that is closed underneath is reported, and lets Tidemark close', async () => {
    const tm = await open({ driver: pglite(db) }, { logger: SILENT })
    await tm.publish('work', 1)
    await db.close()
    await assert.rejects(tm.publish('work', 2), (error: unknown) => {
      assert.ok(error instanceof DatabaseError)
      assert.match(`${error.message} ${String(error.cause)}`, /closed/)
      return true
    })
    await tm.close()
    await assert.rejects(tm.publish('work', 3), ClosedError)
  })
})
