import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { ClosedError, ConfigError } from 'tidemark'
import { BoundedQueue, type QueueLimits } from '../../src/index.ts'

/** An item is its own size. */
const queueOf = (limits: Partial<QueueLimits> = {}): BoundedQueue<number> =>
  new BoundedQueue<number>({ maxItems: 100, maxBytes: 1_000, ...limits, sizeOf: item => item })

const NOW = { timeout: 0 }
const LONG = { timeout: 60_000 }

/** Whether a promise is still waiting after everything that could happen by itself has happened. */
async function isWaiting(promise: Promise<unknown>): Promise<boolean> {
  let isDone = false
  promise.then(
    () => (isDone = true),
    () => (isDone = true),
  )
  await new Promise(resolve => setImmediate(resolve))
  return !isDone
}

describe('a put', () => {
  it('waits while there are too many items, and continues in order', async () => {
    const queue = queueOf({ maxItems: 2 })
    await queue.put(1)
    await queue.put(2)
    const third = queue.put(3)
    const fourth = queue.put(4)
    assert.ok(await isWaiting(third))
    assert.equal(queue.metrics.waitingPuts, 2)
    assert.deepEqual(await queue.drain(1, NOW), [1])
    await third
    assert.ok(await isWaiting(fourth))
    assert.deepEqual(await queue.drain(9, NOW), [2, 3, 4])
    await fourth
  })

  it('waits while there are too many bytes, and a small one does not overtake a large one', async () => {
    const queue = queueOf({ maxBytes: 10 })
    await queue.put(8)
    const large = queue.put(5)
    const small = queue.put(1)
    assert.ok(await isWaiting(large))
    assert.ok(await isWaiting(small))
    assert.equal(queue.tryPut(1), false)
    assert.deepEqual(await queue.drain(1, NOW), [8])
    await Promise.all([large, small])
    assert.deepEqual(await queue.drain(9, NOW), [5, 1])
  })

  it('larger than the whole queue waits until it is empty, and is then alone in it', async () => {
    const queue = queueOf({ maxBytes: 10 })
    await queue.put(1)
    const large = queue.put(11)
    const small = queue.put(1)
    assert.ok(await isWaiting(large))
    assert.deepEqual(await queue.drain(1, NOW), [1])
    await large
    assert.ok(await isWaiting(small))
    assert.equal(queue.metrics.peakBytes, 11)
    assert.deepEqual(await queue.drain(1, NOW), [11])
    await small
    assert.deepEqual(await queue.drain(1, NOW), [1])
  })

  it('that is aborted is not in the queue, and lets the next one in', async () => {
    const queue = queueOf({ maxBytes: 10 })
    await queue.put(5)
    const controller = new AbortController()
    const aborted = queue.put(6, { signal: controller.signal })
    const next = queue.put(4)
    assert.ok(await isWaiting(next))
    controller.abort(new Error('enough'))
    await assert.rejects(aborted, /enough/)
    await next
    assert.deepEqual(await queue.drain(9, NOW), [5, 4])
    await assert.rejects(queue.put(1, { signal: AbortSignal.abort(new Error('before')) }), /before/)
    assert.equal(queue.metrics.items, 0)
  })
})

describe('a drain', () => {
  it('returns when it has the number it was asked for', async () => {
    const queue = queueOf()
    const draining = queue.drain(3, LONG)
    await queue.put(1)
    await queue.put(2)
    assert.ok(await isWaiting(draining))
    await queue.put(3)
    await queue.put(4)
    assert.deepEqual(await draining, [1, 2, 3])
  })

  it('returns what arrived until the timeout', async () => {
    const queue = queueOf()
    await queue.put(1)
    assert.deepEqual(await queue.drain(3, { timeout: 20 }), [1])
    assert.deepEqual(await queue.drain(3, { timeout: 20 }), [])
  })

  it('takes more than the queue holds at a time', async () => {
    const queue = queueOf({ maxItems: 2 })
    const puts = Promise.all([1, 2, 3, 4, 5, 6, 7].map(item => queue.put(item)))
    assert.deepEqual(await queue.drain(6, LONG), [1, 2, 3, 4, 5, 6])
    await puts
    assert.equal(queue.metrics.peakItems, 2)
  })

  it('stops before the item that exceeds the bytes, but takes a first one of any size', async () => {
    const queue = queueOf()
    for (const item of [4, 4, 4, 50, 1]) await queue.put(item)
    assert.deepEqual(await queue.drain(9, { ...LONG, maxBytes: 10 }), [4, 4])
    assert.deepEqual(await queue.drain(9, { ...NOW, maxBytes: 10 }), [4])
    assert.deepEqual(await queue.drain(9, { ...LONG, maxBytes: 10 }), [50])
  })

  it('that is aborted returns its items: nothing is lost', async () => {
    const queue = queueOf()
    const controller = new AbortController()
    const draining = queue.drain(3, { ...LONG, signal: controller.signal })
    await queue.put(1)
    assert.ok(await isWaiting(draining))
    controller.abort()
    assert.deepEqual(await draining, [1])
    assert.deepEqual(await queue.drain(3, { ...LONG, signal: AbortSignal.abort() }), [])
  })

  it('waits for the previous drain, so that neither has gaps', async () => {
    const queue = queueOf()
    const first = queue.drain(3, LONG)
    const second = queue.drain(2, LONG)
    for (const item of [1, 2, 3, 4, 5, 6]) await queue.put(item)
    assert.deepEqual(await first, [1, 2, 3])
    assert.deepEqual(await second, [4, 5])
    const third = queue.drain(5, LONG)
    assert.deepEqual(await queue.drain(1, { timeout: 20 }), [], 'its time ran out before its turn came')
    queue.close()
    assert.deepEqual(await third, [6])
  })

  it('takes nothing that belongs to the previous drain', async () => {
    const queue = queueOf()
    const first = queue.drain(3, LONG)
    assert.ok(queue.tryPut(1) && queue.tryPut(2))
    // The first has been woken and has not run yet.
    const second = queue.drain(1, LONG)
    assert.ok(queue.tryPut(3) && queue.tryPut(4))
    assert.deepEqual(await Promise.all([first, second]), [[1, 2, 3], [4]])
  })

  it('refuses invalid settings', async () => {
    const queue = queueOf()
    await assert.rejects(queue.drain(0, NOW), ConfigError)
    await assert.rejects(queue.drain(1, { timeout: -1 }), ConfigError)
    await assert.rejects(queue.drain(1, { timeout: Number.POSITIVE_INFINITY }), ConfigError)
    assert.throws(() => queueOf({ maxItems: 0 }), ConfigError)
    assert.throws(() => queueOf({ maxBytes: 1.5 }), ConfigError)
  })
})

describe('a closed queue', () => {
  it('accepts nothing more, returns what it has, and then ends', async () => {
    const queue = queueOf({ maxItems: 2 })
    await queue.put(1)
    await queue.put(2)
    const waiting = queue.put(3)
    queue.close()
    queue.close()
    await assert.rejects(waiting, ClosedError)
    await assert.rejects(queue.put(4), ClosedError)
    assert.equal(queue.isEnded, false)
    assert.deepEqual(await queue.drain(9, LONG), [1, 2])
    assert.equal(queue.isEnded, true)
    assert.deepEqual(await queue.drain(9, LONG), [])
  })

  it('wakes all waiting callers', async () => {
    const queue = queueOf()
    const drains = [queue.drain(1, LONG), queue.drain(1, LONG)]
    queue.close()
    assert.deepEqual(await Promise.all(drains), [[], []])
  })

  it('that failed rejects, after it has returned what it has', async () => {
    const queue = queueOf()
    await queue.put(1)
    queue.fail(new Error('broken'))
    assert.deepEqual(await queue.drain(9, LONG), [1])
    await assert.rejects(queue.drain(9, LONG), /broken/)
    await assert.rejects(queue.put(1), /broken/)
  })
})

describe('a queue', () => {
  it('returns everything once and in order, and never exceeds its limits', async () => {
    const sizes = fc.array(fc.integer({ min: 0, max: 20 }), { maxLength: 80 })
    const limits = fc.record({ maxItems: fc.integer({ min: 1, max: 10 }), maxBytes: fc.integer({ min: 20, max: 60 }) })
    const drains = fc.array(
      fc.record({ max: fc.integer({ min: 1, max: 9 }), maxBytes: fc.integer({ min: 1, max: 60 }) }),
      {
        minLength: 1,
        maxLength: 5,
      },
    )
    await fc.assert(
      fc.asyncProperty(sizes, limits, drains, async (sizes, limits, drains) => {
        let held = 0
        const queue = new BoundedQueue<{ id: number; size: number }>({
          ...limits,
          sizeOf: item => item.size,
          onTaken: (_items, bytes) => (held -= bytes),
        })
        const puts = sizes.map(async (size, id) => {
          await queue.put({ id, size })
          held += size
        })
        Promise.all(puts).then(() => queue.close())
        const taken: number[] = []
        for (let turn = 0; !queue.isEnded; turn++) {
          const { max, maxBytes } = drains[turn % drains.length] as { max: number; maxBytes: number }
          const items = await queue.drain(max, { ...LONG, maxBytes })
          const bytes = items.reduce((sum, item) => sum + item.size, 0)
          assert.ok(items.length <= max && (items.length === 1 || bytes <= maxBytes))
          taken.push(...items.map(item => item.id))
        }
        assert.deepEqual(taken, [...sizes.keys()])
        const { peakItems, peakBytes, totalPut, totalTaken, bytes } = queue.metrics
        assert.ok(peakItems <= limits.maxItems && peakBytes <= limits.maxBytes)
        assert.deepEqual([totalPut, totalTaken, bytes, held], [sizes.length, sizes.length, 0, 0])
      }),
    )
  })

  it('counts', async () => {
    const queue = queueOf({ maxItems: 3, maxBytes: 30 })
    for (const item of [10, 5, 1]) await queue.put(item)
    const waiting = queue.put(2)
    const { metrics } = queue
    assert.deepEqual(metrics, {
      maxItems: 3,
      maxBytes: 30,
      items: 3,
      bytes: 16,
      peakItems: 3,
      peakBytes: 16,
      totalPut: 3,
      totalTaken: 0,
      waitingPuts: 1,
    })
    queue.close()
    await assert.rejects(waiting, ClosedError)
  })
})
