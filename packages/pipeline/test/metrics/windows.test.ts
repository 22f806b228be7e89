import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
// Inside: the clock of a window can only be given here.
import { LatencyWindow } from '../../src/metrics/latency-window.ts'
import { RateWindow } from '../../src/metrics/rate-window.ts'

describe('a latency window', () => {
  it('returns percentiles that are never too low, and accurate to a fifth', () => {
    const window = new LatencyWindow({ clock: () => 0 })
    for (let ms = 1; ms <= 1_000; ms++) window.record(ms)
    const { count, average, p50, p95, p99 } = window.snapshot()
    assert.deepEqual([count, average], [1_000, 500.5])
    for (const [found, exact] of [
      [p50, 500],
      [p95, 950],
      [p99, 990],
    ] as const) {
      assert.ok(found >= exact && found < exact * 1.2, `${found} for ${exact}`)
    }
  })

  it('forgets after five seconds', () => {
    let now = 0
    const window = new LatencyWindow({ clock: () => now })
    window.record(1)
    now = 4_999
    window.record(1)
    assert.equal(window.snapshot().count, 2)
    now = 5_000
    assert.equal(window.snapshot().count, 1)
    now = 1e6
    assert.deepEqual(window.snapshot(), { count: 0, average: 0, p50: 0, p95: 0, p99: 0 })
  })

  it('has the given length', () => {
    let now = 0
    const window = new LatencyWindow({ windowMs: 60_000, clock: () => now })
    window.record(1)
    now = 47_999
    assert.equal(window.snapshot().count, 1)
    now = 60_000
    assert.equal(window.snapshot().count, 0)
  })
})

describe('a rate window', () => {
  it('counts over the window, or over its own lifetime if that is shorter', () => {
    let now = 0
    const window = new RateWindow({ windowMs: 10_000, clock: () => now })
    window.add(100)
    assert.equal(window.perSecond(), 100)
    now = 4_000
    window.add(100)
    assert.equal(window.perSecond(), 50)
    now = 9_999
    assert.ok(Math.abs(window.perSecond() - 20) < 0.01)
    now = 13_000
    assert.equal(window.perSecond(), 10)
    now = 1e6
    assert.equal(window.perSecond(), 0)
  })
})
