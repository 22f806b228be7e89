import express from 'express'
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

const app = express()
app.get('/orders', async (_, response) => {
  response.json(await roundTrips())
})
const server = app.listen(Number(process.env.PORT), '127.0.0.1')
process.once('SIGTERM', async () => {
  server.close()
  for (const tm of topics) await tm.close()
})
