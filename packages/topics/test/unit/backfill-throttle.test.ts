import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { BackfillThrottle } from '../../src/backfill/backfill-throttle.ts'

const PLAN = { batchSize: 10_000, maxPerSecond: 1_000_000_000, targetMs: 10 }
const fast = { messages: 0, batchMs: 5, probeMs: 1 }
const slow = { messages: 0, batchMs: 5, probeMs: 11 }

describe('the rate of a backfill', () => {
  it('grows to the batch size while the live path is fast, without a pause', () => {
    const throttle = new BackfillThrottle(PLAN)
    assert.ok(throttle.batch < 10_000)
    for (let batch = 0; batch < 20; batch++) assert.equal(throttle.next(fast), 0)
    assert.equal(throttle.batch, 10_000)
  })

  it('halves and pauses while the live path is slow, down to 100', () => {
    const throttle = new BackfillThrottle(PLAN)
    for (let batch = 0; batch < 20; batch++) throttle.next(fast)
    throttle.next(slow)
    assert.ok(throttle.next(slow) > 0)
    assert.equal(throttle.batch, 5_000)
    for (let batch = 0; batch < 20; batch++) assert.ok(throttle.next(slow) > 0)
    assert.equal(throttle.batch, 100)
    assert.equal(throttle.next(fast), 0)
    assert.equal(throttle.batch, 150)
  })

  it('counts as slowed until its batches are as large as before', () => {
    const throttle = new BackfillThrottle(PLAN)
    for (let batch = 0; batch < 20; batch++) throttle.next(fast)
    assert.equal(throttle.isSlowed, false)
    for (let batch = 0; batch < 3; batch++) throttle.next(slow)
    assert.equal(throttle.isSlowed, true)
    throttle.next(fast)
    assert.equal(throttle.isSlowed, true)
    for (let batch = 0; batch < 20; batch++) throttle.next(fast)
    assert.deepEqual([throttle.isSlowed, throttle.batch], [false, 10_000])
  })

  it('ignores one slow probe of twenty', () => {
    const throttle = new BackfillThrottle(PLAN)
    for (let batch = 0; batch < 19; batch++) throttle.next(fast)
    assert.equal(throttle.next(slow), 0)
    assert.ok(throttle.next(slow) > 0)
  })

  it('keeps to the rate', () => {
    const throttle = new BackfillThrottle({ ...PLAN, maxPerSecond: 500 })
    assert.equal(throttle.batch, 500)
    assert.equal(throttle.next({ messages: 500, batchMs: 100, probeMs: 1 }), 900)
  })

  it('never exceeds a batch size below the smallest it would choose', () => {
    const throttle = new BackfillThrottle({ ...PLAN, batchSize: 7 })
    assert.equal(throttle.batch, 7)
    throttle.next(slow)
    assert.equal(throttle.batch, 7)
  })
})
