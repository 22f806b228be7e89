import assert from 'node:assert/strict'
import { PrismaPg } from '@prisma/adapter-pg'
import { open, TransactionError } from 'tidemark'
import { PrismaClient } from './generated/client.ts'

const url = process.env.TIDEMARK_TEST_POSTGRES_URL ?? ''
const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: url }) })
await prisma.$executeRaw`create table "Order" (id int primary key, total int not null)`
const tm = await open(url)
await tm.configureTopic('orders')
const published = async () =>
  (await tm.admin.browse('orders')).messages.map(({ payload }) => JSON.parse(String(payload)))
const undone = new Error('undone on purpose')
const isUndone = (error: unknown) => assert.equal(error, undone)

// Commit.
await prisma.$transaction(async tx => {
  await tm.publish('orders', 'first, before anything is written', { tx })
  await tx.order.create({ data: { id: 1, total: 5 } })
  await tm.publish('orders', 'second', { tx })
})

// Rollback by an error of the caller's.
await prisma
  .$transaction(async tx => {
    await tx.order.create({ data: { id: 2, total: 5 } })
    await tm.publish('orders', 'rolled back', { tx })
    throw undone
  })
  .catch(isUndone)

// A savepoint.
await prisma.$transaction(async tx => {
  await tx.order.create({ data: { id: 3, total: 5 } })
  await tx.$executeRaw`savepoint inner_one`
  await tm.publish('orders', 'rolled back to the savepoint', { tx })
  await tx.$executeRaw`rollback to savepoint inner_one`
  await tm.publish('orders', 'third', { tx })
})

// An error inside aborts the transaction.
await prisma
  .$transaction(async tx => {
    await tx.$queryRaw`select 1 / 0`.catch(() => undefined)
    await assert.rejects(tm.publish('orders', 'in an aborted transaction', { tx }), /aborted/)
    throw undone
  })
  .catch(isUndone)

// A transaction that has ended.
const kept: { tx?: Parameters<Parameters<typeof prisma.$transaction>[0]>[0] } = {}
await prisma.$transaction(async tx => {
  kept.tx = tx
})
assert.ok(kept.tx)
await assert.rejects(tm.publish('orders', 'after the end', { tx: kept.tx }), TransactionError)

// Not a transaction: each statement would commit by itself.
await assert.rejects(tm.publish('orders', 'outside', { tx: prisma }), TransactionError)

assert.deepEqual(await published(), ['first, before anything is written', 'second', 'third'])
assert.deepEqual((await prisma.order.findMany()).map(({ id }) => id).toSorted(), [1, 3])
await tm.close()
await prisma.$disconnect()
