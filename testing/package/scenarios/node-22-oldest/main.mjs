import assert from 'node:assert/strict'
import { open } from 'tidemark'

const tm = await open(process.env.TIDEMARK_TEST_POSTGRES_URL)
await tm.publish('orders', { orderId: 7 })
const reader = tm.reader('orders')
const delivery = await reader.poll(20_000)
assert.deepEqual(delivery?.payload, { orderId: 7 })
await reader.ack(delivery)
await tm.close()

await assert.rejects(() => open('sqlite:./app.db'), { code: 'TIDEMARK_DATABASE_VERSION', message: /Update Node$/ })
