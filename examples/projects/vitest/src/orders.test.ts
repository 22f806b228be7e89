import { open, type Tidemark } from 'tidemark'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { mailing, type Order, placeOrder } from './orders.ts'

// A real Tidemark for every test: in memory it opens in milliseconds, and no test sees another's messages.
let tm: Tidemark

beforeEach(async () => {
  tm = await open('sqlite::memory:')
  // Short backoff, so that a test of retries does not wait.
  await tm.configureTopic('orders', { semantics: 'pub-sub', maxAttempts: 2, backoff: { initial: 1, max: 1 } })
})

afterEach(() => tm.close())

describe('placeOrder', () => {
  it('publishes an order once', async () => {
    const reader = await tm.reader<Order>('orders', { group: 'test' }).ready()
    await placeOrder(tm, { orderId: 7, total: 12 })
    await placeOrder(tm, { orderId: 7, total: 12 })
    expect((await reader.receive()).payload).toEqual({ orderId: 7, total: 12 })
    expect(await reader.poll(0)).toBeNull() // polling does not wait: nothing else is there
  })

  it('publishes nothing that is not valid', async () => {
    await expect(placeOrder(tm, { orderId: 7, total: -1 })).rejects.toThrow(RangeError)
    expect((await tm.admin.browse('orders')).messages).toEqual([])
  })
})

describe('mailing', () => {
  it('sends a mail for every order', async () => {
    const send = vi.fn(async () => {})
    const group = mailing(tm, send)
    await group.start()
    await placeOrder(tm, { orderId: 7, total: 12 })
    // Wait for the condition, never for a fixed time.
    await vi.waitFor(() => expect(send).toHaveBeenCalledWith({ orderId: 7, total: 12 }))
    await group.stop()
  })

  it('tries again, and keeps what fails for good as a dead letter', async () => {
    const send = vi.fn(async () => {
      throw new Error('mailbox full')
    })
    const group = mailing(tm, send)
    await group.start()
    await placeOrder(tm, { orderId: 7, total: 12 })
    await vi.waitFor(async () => {
      expect(await tm.admin.deadLetters('orders')).toMatchObject([{ group: 'mailing', attempts: 2 }])
    })
    expect(send).toHaveBeenCalledTimes(2)
    await group.stop()
  })
})
