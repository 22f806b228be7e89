import { open } from 'tidemark'
import { describe, expect, it } from 'vitest'

describe.each(['sqlite::memory:', process.env.TIDEMARK_TEST_POSTGRES_URL ?? ''])('a queue', url => {
  it('delivers what was published', async () => {
    const tm = await open(url)
    await tm.publish('orders', { orderId: 7 })
    const reader = tm.reader('orders')
    const delivery = await reader.poll(20_000)
    expect(delivery?.payload).toEqual({ orderId: 7 })
    if (delivery) await reader.ack(delivery)
    await tm.close()
  })
})
