import { fastify } from 'fastify'
import { open } from 'tidemark'

const URLS = ['sqlite:./app.db', process.env.TIDEMARK_TEST_POSTGRES_URL ?? '']
const topics = await Promise.all(URLS.map(url => open(url)))

async function roundTrips(): Promise<unknown[]> {
  const answers: unknown[] = []
  for (const tm of topics) {
    await tm.publish('orders', { orderId: 7 })
    const reader = tm.reader('orders')
    const delivery = await reader.poll(20_000)
    if (delivery) await reader.ack(delivery)
    answers.push(delivery?.payload)
  }
  return answers
}

const app = fastify()
app.get('/orders', async () => await roundTrips())
app.addHook('onClose', async () => {
  for (const tm of topics) await tm.close()
})
process.once('SIGTERM', () => void app.close())
await app.listen({ port: Number(process.env.PORT), host: '127.0.0.1' })
