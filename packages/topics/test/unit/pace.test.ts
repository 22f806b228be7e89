import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Pace } from '../../src/backfill/pace.ts'

const PLAN = { batchSize: 10_000, maxPerSecond: 1_000_000_000, targetMs: 10 }
const fast = { messages: 0, batchMs: 5, probeMs: 1 }
const slow = { messages: 0, batchMs: 5, probeMs: 11 }

describe('the pace of a backfill', () => {
  it('grows to the batch size while the live path is fast, without a pause', () => {
    const pace = new Pace(PLAN)
    assert.ok(pace.batch < 10_000)
    for (let batch = 0; batch < 20; batch++) assert.equal(pace.next(fast), 0)
    assert.equal(pace.batch, 10_000)
  })

  it('halves and rests while the live path is slow, down to 100', () => {
    const pace = new Pace(PLAN)
    for (let batch = 0; batch < 20; batch++) pace.next(fast)
    pace.next(slow)
    assert.ok(pace.next(slow) > 0)
    assert.equal(pace.batch, 5_000)
    for (let batch = 0; batch < 20; batch++) assert.ok(pace.next(slow) > 0)
    assert.equal(pace.batch, 100)
    assert.equal(pace.next(fast), 0)
    assert.equal(pace.batch, 150)
  })

  it('takes one slow probe of twenty for chance', () => {
    const pace = new Pace(PLAN)
    for (let batch = 0; batch < 19; batch++) pace.next(fast)
    assert.equal(pace.next(slow), 0)
    assert.ok(pace.next(slow) > 0)
  })

  it('keeps to the rate', () => {
    const pace = new Pace({ ...PLAN, maxPerSecond: 500 })
    assert.equal(pace.batch, 500)
    assert.equal(pace.next({ messages: 500, batchMs: 100, probeMs: 1 }), 900)
  })

  it('never exceeds a batch size below the smallest it would choose', () => {
    const pace = new Pace({ ...PLAN, batchSize: 7 })
    assert.equal(pace.batch, 7)
    pace.next(slow)
    assert.equal(pace.batch, 7)
  })
})
