import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { WakeHub, type Waker } from '../../src/consume/wake-hub.ts'

const TOPIC = 1
/** Longer than any test: only a wake-up ends the wait. */
const FOREVER_MS = 3_600_000

describe('a consumer that waits', () => {
  it('does not wait if it was woken between its look and its wait', { timeout: 60_000 }, async () => {
    const hub = new WakeHub()
    const waker = hub.waker(TOPIC)
    const seen = waker.count
    hub.wake(TOPIC)
    await waker.wait(seen, FOREVER_MS)
  })

  it('is woken for its own topic and for all topics, and for no other', async () => {
    const hub = new WakeHub()
    const waker = hub.waker(TOPIC)
    hub.wake(2)
    assert.equal(waker.count, 0)
    hub.wake(TOPIC)
    hub.wake(null)
    assert.equal(waker.count, 2)
  })

  it('is woken last after it was served', async () => {
    const hub = new WakeHub()
    const [first, second, third] = [hub.waker(TOPIC), hub.waker(TOPIC), hub.waker(TOPIC)]
    first.served()
    assert.deepEqual(await orderOf(hub, { first, second, third }), ['second', 'third', 'first'])
  })
})

async function orderOf(hub: WakeHub, wakers: Readonly<Record<string, Waker>>): Promise<string[]> {
  const order: string[] = []
  const waits = Object.entries(wakers).map(async ([name, waker]) => {
    await waker.wait(waker.count, FOREVER_MS)
    order.push(name)
  })
  hub.wake(TOPIC)
  await Promise.all(waits)
  return order
}
