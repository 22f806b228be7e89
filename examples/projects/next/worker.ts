/** Consumes what the route handlers publish: `npm run worker`, beside `npm start`. */
import { open } from 'tidemark'

const tm = await open(process.env.DATABASE ?? 'sqlite:./data/app.db')
await tm.configureTopic('orders') // repeating it is safe
const orders = tm.consumerGroup<{ orderId: number }>('orders')
orders.addConsumer('worker-1', ({ payload }) => console.log(`order ${payload.orderId}`))
await orders.start()
console.log('waiting for orders')
await new Promise(resolve => process.once('SIGTERM', resolve))
await orders.stop({ timeout: '10s' })
await tm.close()
