import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
// The clock of a rate can only be given here.
import { Rate } from '../../src/progress/rate.ts'

describe('a rate', () => {
  it('is that of the last five seconds', () => {
    const rate = new Rate()
    assert.equal(rate.of(0, 0), 0)
    assert.equal(rate.of(100, 1_000), 100)
    assert.equal(rate.of(100, 5_000), 20)
    assert.equal(rate.of(100, 6_000), 0)
  })
})
