/**
 * A Fastify service that publishes what it is told over HTTP, consumes it itself, and shuts down without losing anything.
 *
 *   node fastify-service.ts
 *   curl -H 'content-type: application/json' -d '{"total":12}' http://127.0.0.1:3000/orders
 */
import Fastify from 'fastify'
import { open } from 'tidemark'

const tm = await open<{ orders: { id: string; total: number } }>(process.env.DATABASE ?? 'sqlite:./data/app.db')
await tm.configureTopic('orders', { semantics: 'pub-sub' })

const email = tm.consumerGroup('orders', 'email')
email.addConsumer('email-1', async ({ payload }) => console.log(`email: order ${payload.id} for ${payload.total}`))
await email.start()

const app = Fastify({ forceCloseConnections: 'idle' })

app.post<{ Body: { total: number } }>(
  '/orders',
  { schema: { body: { type: 'object', required: ['total'], properties: { total: { type: 'number' } } } } },
  async (request, reply) => {
    // The client's key makes its retry harmless: the same messageId is stored once.
    const id = request.headers['idempotency-key']?.toString() ?? crypto.randomUUID()
    const { duplicate } = await tm.publish('orders', { id, total: request.body.total }, { messageId: id })
    return reply.code(202).send({ id, duplicate })
  },
)

// For the load balancer: 503 tells it to send requests elsewhere. `healthy` is false while a group needs attention.
app.get('/health', async (_request, reply) => {
  const { healthy } = await tm.admin.health()
  return reply.code(healthy ? 200 : 503).send({ healthy })
})

await app.listen({ port: Number(process.env.PORT ?? 3000) })
console.log(`listening at ${app.listeningOrigin}`)

await new Promise(resolve => {
  process.once('SIGINT', resolve)
  process.once('SIGTERM', resolve)
})
// From the outside in: no new requests, then no new messages, then the database.
await app.close() // waits for requests that have begun
await email.stop({ timeout: '10s' }) // waits for handlers that have begun
await tm.close()
console.log('stopped')
