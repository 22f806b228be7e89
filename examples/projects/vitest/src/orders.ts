import type { Tidemark } from 'tidemark'

export type Order = { orderId: number; total: number }
export type Mailer = (order: Order) => Promise<void>

export async function placeOrder(tm: Tidemark, order: Order): Promise<void> {
  if (order.total < 0) throw new RangeError('The total of an order is at least 0')
  await tm.publish('orders', order, { messageId: `order-${order.orderId}` })
}

/** The group that mails about orders; its dependencies are parameters, so that a test can give its own. */
export function mailing(tm: Tidemark, send: Mailer) {
  const group = tm.consumerGroup<Order>('orders', 'mailing')
  group.addConsumer('mailing-1', ({ payload }) => send(payload))
  return group
}
