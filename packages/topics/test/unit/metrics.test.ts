import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Histogram } from '../../src/metrics/histogram.ts'
import { MetricsRegistry } from '../../src/metrics/metrics.ts'

describe('a histogram', () => {
  it('gives percentiles within a tenth of the truth, never below it by more', () => {
    const histogram = new Histogram()
    for (let ms = 1; ms <= 1_000; ms++) histogram.record(ms)
    const { count, p50, p95, p99, max } = histogram.snapshot()
    assert.equal(count, 1_000)
    for (const [got, exact] of [
      [p50, 500],
      [p95, 950],
      [p99, 990],
    ] as const) {
      assert.ok(got >= exact * 0.99 && got <= exact * 1.1, `${got} for ${exact}`)
    }
    assert.equal(max, 1_000)
  })

  it('is empty before the first record, and takes anything', () => {
    const histogram = new Histogram()
    assert.deepEqual(histogram.snapshot(), { count: 0, p50: 0, p95: 0, p99: 0, max: 0 })
    for (const ms of [0, 0.000_1, 1e9]) histogram.record(ms)
    assert.equal(histogram.snapshot().count, 3)
  })
})

describe('the metrics', () => {
  it('count for the whole, the topic and the group', () => {
    const metrics = new MetricsRegistry()
    metrics.add('acked', 3, 'orders', 'email')
    metrics.add('acked', 2, 'orders', 'billing')
    metrics.add('published', 7, 'orders')
    const { totals, topics, rates } = metrics.snapshot({ size: 1, busy: 0, waiting: 0 })
    assert.equal(totals.acked, 5)
    assert.equal(topics.orders?.totals.published, 7)
    assert.equal(topics.orders?.groups.email?.totals.acked, 3)
    assert.ok(rates.acked > 0)
  })

  it('have a conflict ratio of 0 before the first claim', () => {
    assert.equal(new MetricsRegistry().snapshot({ size: 1, busy: 0, waiting: 0 }).claimConflictRatio, 0)
  })
})
