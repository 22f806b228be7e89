import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { backoffDelay } from '../../src/backoff.ts'

const backoff = { initialMs: 1_000, maxMs: 60_000, factor: 2 }

describe('the backoff', () => {
  it('doubles from the initial wait up to the longest', () => {
    const waits = [1, 2, 3, 4, 5, 6, 7, 8].map(attempt => backoffDelay(backoff, attempt, () => 0))
    assert.deepEqual(waits, [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000])
  })

  it('is at most a tenth shorter by chance', () => {
    assert.equal(
      backoffDelay(backoff, 1, () => 1),
      900,
    )
  })
})
