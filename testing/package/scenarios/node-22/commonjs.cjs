const assert = require('node:assert/strict')
const { open } = require('tidemark')

async function main() {
  for (const url of ['sqlite:./commonjs.db', process.env.TIDEMARK_TEST_POSTGRES_URL]) {
    const tm = await open(url)
    await tm.publish('orders', { orderId: 7 })
    const reader = tm.reader('orders')
    const delivery = await reader.poll(20_000)
    assert.deepEqual(delivery?.payload, { orderId: 7 })
    await reader.ack(delivery)
    await tm.close()
  }
}

main()
