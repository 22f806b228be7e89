import type { Tidemark } from 'tidemark'
import type { PrismaClient } from './generated/client.ts'

export type OrderPlaced = { orderId: number; total: number }

/** Stores the order and publishes its message in one transaction: both are there, or neither is. */
export async function placeOrder(prisma: PrismaClient, tm: Tidemark, { orderId, total }: OrderPlaced): Promise<void> {
  await prisma.$transaction(async tx => {
    await tx.order.create({ data: { id: orderId, total } })
    // Pass `tx`, not `prisma`: with `prisma` the message would be stored at once, so Tidemark refuses it.
    await tm.publish('orders.placed', { orderId, total }, { tx, key: `order-${orderId}` })
  })
}
