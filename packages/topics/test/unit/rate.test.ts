import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ratePerSecond } from '../../src/stores/rate.ts'

const MINUTE_MS = 60_000

describe('the rate of a group', () => {
  const counts = { minute: 100, minuteCount: 60, previousCount: 120 }

  it('weights the previous minute by its share of the last sixty seconds', () => {
    assert.equal(ratePerSecond(counts, 100 * MINUTE_MS), 3)
    assert.equal(ratePerSecond(counts, 100.5 * MINUTE_MS), 2)
    assert.equal(ratePerSecond(counts, 101 * MINUTE_MS - 0.001).toFixed(3), '1.000')
  })

  it('fades without further heartbeats', () => {
    assert.equal(ratePerSecond(counts, 101 * MINUTE_MS), 1)
    assert.equal(ratePerSecond(counts, 101.5 * MINUTE_MS), 0.5)
    assert.equal(ratePerSecond(counts, 102 * MINUTE_MS), 0)
  })

  it('tolerates a clock that was ahead', () => {
    assert.ok(ratePerSecond(counts, 99.5 * MINUTE_MS) >= 0)
  })
})
