import assert from 'node:assert/strict'
import { DataTypes, Sequelize } from 'sequelize'
import { open, TransactionError } from 'tidemark'

const url = process.env.TIDEMARK_TEST_POSTGRES_URL ?? ''
const sequelize = new Sequelize(url, { logging: false })
const Order = sequelize.define('order', { total: DataTypes.INTEGER }, { timestamps: false })
await sequelize.sync()
const tm = await open(url)
await tm.configureTopic('orders')
const published = async () =>
  (await tm.admin.browse('orders')).messages.map(({ payload }) => JSON.parse(String(payload)))
const undone = new Error('undone on purpose')
const isUndone = (error: unknown) => assert.equal(error, undone)

// Commit.
await sequelize.transaction(async transaction => {
  await tm.publish('orders', 'first, before anything is written', { tx: transaction })
  await Order.create({ total: 1 }, { transaction })
  await tm.publish('orders', 'second', { tx: transaction })
})

// Rollback by an error of the caller's.
await sequelize
  .transaction(async transaction => {
    await Order.create({ total: 2 }, { transaction })
    await tm.publish('orders', 'rolled back', { tx: transaction })
    throw undone
  })
  .catch(isUndone)

// A nested transaction is a savepoint.
await sequelize.transaction(async transaction => {
  await Order.create({ total: 3 }, { transaction })
  const inner = await sequelize.transaction({ transaction })
  await tm.publish('orders', 'rolled back to the savepoint', { tx: inner })
  await inner.rollback()
  await tm.publish('orders', 'third', { tx: transaction })
})

// An error inside aborts the transaction.
await sequelize
  .transaction(async transaction => {
    await sequelize.query('select 1 / 0', { transaction }).catch(() => undefined)
    await assert.rejects(tm.publish('orders', 'in an aborted transaction', { tx: transaction }), /aborted/)
    throw undone
  })
  .catch(isUndone)

// An unmanaged transaction, which then has ended.
const unmanaged = await sequelize.transaction()
await tm.publish('orders', 'unmanaged', { tx: unmanaged })
await unmanaged.commit()
await assert.rejects(tm.publish('orders', 'after the end', { tx: unmanaged }), TransactionError)

// Not a transaction: each statement would commit by itself.
await assert.rejects(tm.publish('orders', 'outside', { tx: sequelize }), TransactionError)

assert.deepEqual(await published(), ['first, before anything is written', 'second', 'third', 'unmanaged'])
assert.deepEqual(
  (await Order.findAll({ raw: true })).map(order => (order as unknown as { total: number }).total).toSorted(),
  [1, 3],
)
await tm.close()
await sequelize.close()
