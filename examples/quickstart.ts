import { open } from 'tidemark'

type Order = { orderId: number; total: number }

await using tm = await open('sqlite:./data/app.db') // or 'postgres://user@host/database'
await tm.configureTopic('orders', { semantics: 'pub-sub', maxAttempts: 5 })

const email = tm.consumerGroup<Order>('orders', 'email')
email.addConsumer('email-1', async ({ payload, attempt }) => {
  console.log(`email: order ${payload.orderId} (attempt ${attempt})`) // throw, and it is retried later
})
await email.start({ from: 'now' })

const billing = tm.reader<Order>('orders', { group: 'billing', from: 'beginning' })

await tm.publish('orders', { orderId: 7, total: 12.5 }, { key: 'customer-3' })

const delivery = await billing.receive()
console.log(`billing: ${delivery.payload.total} for order ${delivery.payload.orderId}`)
await billing.ack(delivery)
await email.stop()
