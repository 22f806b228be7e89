import assert from 'node:assert/strict'
import { open } from 'tidemark'

async function roundTrip(url: string): Promise<void> {
  const tm = await open(url)
  await tm.publish('orders', { orderId: 7 })
  const reader = tm.reader('orders')
  const delivery = await reader.poll(20_000)
  assert.deepEqual(delivery?.payload, { orderId: 7 })
  if (delivery) await reader.ack(delivery)
  await tm.close()
}

async function main(): Promise<void> {
  await roundTrip('sqlite:./app.db')
  await roundTrip(process.env.TIDEMARK_TEST_POSTGRES_URL ?? '')
}

main().catch(error => {
  console.error(error)
  process.exit(1)
})
