import assert from 'node:assert/strict'
import { open } from 'tidemark'

for (const url of ['sqlite:./app.db', process.env.TIDEMARK_TEST_POSTGRES_URL]) {
  const tm = await open(url)
  await tm.publish('orders', { orderId: 7 })
  const reader = tm.reader('orders')
  const delivery = await reader.poll(20_000)
  assert.deepEqual(delivery?.payload, { orderId: 7 })
  await reader.ack(delivery)
  await tm.close()
}
