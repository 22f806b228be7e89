import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { it } from 'node:test'
import { PrismaPg } from '@prisma/adapter-pg'
import { open } from 'tidemark'
import { PrismaClient } from './generated/client.ts'
import { placeOrder } from './place-order.ts'

it('publishes orders that were stored, and no other', async () => {
  const connectionString = process.env.DATABASE_URL ?? process.env.TIDEMARK_TEST_POSTGRES_URL ?? ''
  const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString }) })
  // What `prisma migrate deploy` does.
  await prisma.$executeRawUnsafe(readFileSync('prisma/migrations/20260501000000_orders/migration.sql', 'utf8'))
  await using tm = await open(connectionString)
  await tm.configureTopic('orders.placed', { semantics: 'pub-sub' })
  const billing = await tm.reader('orders.placed', { group: 'billing' }).ready()

  await placeOrder(prisma, tm, { orderId: 7, total: 12 })
  await assert.rejects(placeOrder(prisma, tm, { orderId: 7, total: 99 }), /Unique constraint/)
  await placeOrder(prisma, tm, { orderId: 8, total: 5 })

  for (const expected of [
    { orderId: 7, total: 12 },
    { orderId: 8, total: 5 },
  ]) {
    const delivery = await billing.receive()
    assert.deepEqual(delivery.payload, expected)
    await billing.ack(delivery)
  }
  assert.equal(await billing.poll(0), null)
  assert.equal(await prisma.order.count(), 2)
  await prisma.$disconnect()
})
