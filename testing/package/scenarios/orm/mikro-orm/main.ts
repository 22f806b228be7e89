import assert from 'node:assert/strict'
import { defineEntity, MikroORM, p } from '@mikro-orm/postgresql'
import { open, TransactionError } from 'tidemark'

const clientUrl = process.env.TIDEMARK_TEST_POSTGRES_URL ?? ''
const Order = defineEntity({
  name: 'Order',
  tableName: 'orders',
  properties: { id: p.integer().primary(), total: p.integer() },
})
const orm = await MikroORM.init({ clientUrl, entities: [Order] })
await orm.schema.create()
const tm = await open(clientUrl)
await tm.configureTopic('orders')
const published = async () =>
  (await tm.admin.browse('orders')).messages.map(({ payload }) => JSON.parse(String(payload)))
const undone = new Error('undone on purpose')
const isUndone = (error: unknown) => assert.equal(error, undone)
const em = orm.em.fork()

// Commit.
await em.transactional(async tx => {
  await tm.publish('orders', 'first, before anything is written', { tx })
  await tx.insert(Order, { id: 1, total: 5 })
  await tm.publish('orders', 'second', { tx })
})

// Rollback by an error of the caller's.
await em
  .transactional(async tx => {
    await tx.insert(Order, { id: 2, total: 5 })
    await tm.publish('orders', 'rolled back', { tx })
    throw undone
  })
  .catch(isUndone)

// A nested transaction is a savepoint.
await em.transactional(async tx => {
  await tx.insert(Order, { id: 3, total: 5 })
  await tx
    .transactional(async inner => {
      await tm.publish('orders', 'rolled back to the savepoint', { tx: inner })
      throw undone
    })
    .catch(isUndone)
  await tm.publish('orders', "third: what's ? and $1", { tx })
})

// An error inside aborts the transaction.
await em
  .transactional(async tx => {
    await tx.execute('select 1 / 0').catch(() => undefined)
    await assert.rejects(tm.publish('orders', 'in an aborted transaction', { tx }), /aborted/)
    throw undone
  })
  .catch(isUndone)

// Begun by hand, which then has ended.
const byHand = orm.em.fork()
await byHand.begin()
await tm.publish('orders', 'by hand', { tx: byHand })
await byHand.commit()
await assert.rejects(tm.publish('orders', 'after the end', { tx: byHand }), TransactionError)

// Not a transaction: each statement would commit by itself.
await assert.rejects(tm.publish('orders', 'outside', { tx: em }), TransactionError)

assert.deepEqual(await published(), [
  'first, before anything is written',
  'second',
  "third: what's ? and $1",
  'by hand',
])
assert.deepEqual((await orm.em.fork().find(Order, {})).map(({ id }) => id).toSorted(), [1, 3])
await tm.close()
await orm.close()
