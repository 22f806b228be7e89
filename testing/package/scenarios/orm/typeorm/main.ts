import assert from 'node:assert/strict'
import { open, TransactionError } from 'tidemark'
import { DataSource, EntitySchema } from 'typeorm'

const url = process.env.TIDEMARK_TEST_POSTGRES_URL ?? ''
const Order = new EntitySchema<{ id: number; total: number }>({
  name: 'order',
  tableName: 'orders',
  columns: { id: { type: Number, primary: true }, total: { type: Number } },
})
const dataSource = new DataSource({ type: 'postgres', url, entities: [Order], synchronize: true })
await dataSource.initialize()
const tm = await open(url)
await tm.configureTopic('orders')
const published = async () =>
  (await tm.admin.browse('orders')).messages.map(({ payload }) => JSON.parse(String(payload)))
const undone = new Error('undone on purpose')
const isUndone = (error: unknown) => assert.equal(error, undone)

// An EntityManager: commit.
await dataSource.transaction(async manager => {
  await tm.publish('orders', 'first, before anything is written', { tx: manager })
  await manager.insert(Order, { id: 1, total: 5 })
  await tm.publish('orders', 'second', { tx: manager })
})

// Rollback by an error of the caller's.
await dataSource
  .transaction(async manager => {
    await manager.insert(Order, { id: 2, total: 5 })
    await tm.publish('orders', 'rolled back', { tx: manager })
    throw undone
  })
  .catch(isUndone)

// A nested transaction is a savepoint.
await dataSource.transaction(async manager => {
  await manager.insert(Order, { id: 3, total: 5 })
  await manager
    .transaction(async inner => {
      await tm.publish('orders', 'rolled back to the savepoint', { tx: inner })
      throw undone
    })
    .catch(isUndone)
  await tm.publish('orders', 'third', { tx: manager })
})

// An error inside aborts the transaction.
await dataSource
  .transaction(async manager => {
    await manager.query('select 1 / 0').catch(() => undefined)
    await assert.rejects(tm.publish('orders', 'in an aborted transaction', { tx: manager }), /aborted/)
    throw undone
  })
  .catch(isUndone)

// A QueryRunner.
const runner = dataSource.createQueryRunner()
for (const end of ['commitTransaction', 'rollbackTransaction'] as const) {
  await runner.startTransaction()
  await tm.publish('orders', end, { tx: runner })
  await runner[end]()
}
await assert.rejects(tm.publish('orders', 'after the end', { tx: runner }), TransactionError)
await runner.release()
await assert.rejects(tm.publish('orders', 'after the release', { tx: runner }), TransactionError)

// Not transactions: each statement would commit by itself.
for (const tx of [dataSource, dataSource.manager]) {
  await assert.rejects(tm.publish('orders', 'outside', { tx }), TransactionError)
}
assert.deepEqual(await published(), ['first, before anything is written', 'second', 'third', 'commitTransaction'])
assert.deepEqual((await dataSource.manager.find(Order)).map(({ id }) => id).toSorted(), [1, 3])
await tm.close()
await dataSource.destroy()
