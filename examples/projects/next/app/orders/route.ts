import { tidemark } from '../../lib/tidemark.ts'

// Publish in route handlers and server actions. Consume in a process of its own (worker.ts): a route handler may be frozen or
// ended when its response is sent.
export async function POST(request: Request): Promise<Response> {
  const order = await request.json()
  if (typeof order?.orderId !== 'number') return Response.json({ error: 'orderId is missing' }, { status: 400 })
  const tm = await tidemark()
  // The same order is published once, however often the browser sends it.
  const { messageId, duplicate } = await tm.publish('orders', order, { messageId: `order-${order.orderId}` })
  return Response.json({ messageId, duplicate }, { status: 202 })
}
