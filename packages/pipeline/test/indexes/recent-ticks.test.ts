import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
// Inside: what a reader keeps in memory shows in no answer.
import { RecentTicks } from '../../src/reading/recent-ticks.ts'

const bytes = (length: number): Uint8Array => new Uint8Array(length)

describe('ticks that were read lately', () => {
  it('are kept within a byte limit, and the least recently used is evicted first', () => {
    const recent = new RecentTicks(100)
    for (const tick of [1, 2, 3]) recent.set(tick, bytes(30))
    assert.equal(recent.get(1)?.length, 30)
    recent.set(4, bytes(30))
    assert.deepEqual(
      [1, 2, 3, 4].map(tick => recent.get(tick) !== undefined),
      [true, false, true, true],
    )
    recent.set(5, bytes(100))
    assert.deepEqual(
      [1, 3, 4, 5].map(tick => recent.get(tick) !== undefined),
      [false, false, false, true],
    )
  })

  it('count once, however often they are set, and are not kept if too large', () => {
    const recent = new RecentTicks(100)
    for (let time = 0; time < 10; time++) recent.set(1, bytes(60))
    recent.set(2, bytes(40))
    recent.set(3, bytes(101))
    assert.deepEqual(
      [1, 2, 3].map(tick => recent.get(tick) !== undefined),
      [true, true, false],
    )
  })
})
