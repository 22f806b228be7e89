import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Histogram } from '../../src/observe/metrics/histogram.ts'
import { MetricsRegistry } from '../../src/observe/metrics/metrics.ts'

describe('a histogram', () => {
  it('gives percentiles accurate to a tenth', () => {
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

describe('a histogram that was reported', () => {
  it('is merged with others as if all had been recorded in one', () => {
    const [one, other, both] = [new Histogram(), new Histogram(), new Histogram()]
    for (let ms = 1; ms <= 100; ms++) {
      const part = ms % 2 === 0 ? one : other
      part.record(ms)
      both.record(ms)
    }
    const merged = new Histogram()
    for (const part of [one, other]) merged.merge(JSON.parse(JSON.stringify(part.sparse())))
    assert.deepEqual(merged.snapshot(), both.snapshot())
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

  it('rebuild only what has changed since they were read', () => {
    const metrics = new MetricsRegistry()
    for (let group = 0; group < 500; group++) metrics.add('acked', 1, 'orders', `group-${group}`)
    const pool = { size: 1, busy: 0, waiting: 0 }
    const before = metrics.snapshot(pool).topics.orders?.groups
    metrics.add('acked', 1, 'orders', 'group-7')
    const after = metrics.snapshot(pool).topics.orders?.groups
    assert.deepEqual([before?.['group-7']?.totals.acked, after?.['group-7']?.totals.acked], [1, 2])
    const rebuilt = Object.keys(after ?? {}).filter(name => after?.[name]?.totals !== before?.[name]?.totals)
    assert.deepEqual(rebuilt, ['group-7'])
  })

  it('weight a timed handler with those that were not timed', () => {
    const metrics = new MetricsRegistry()
    const meter = metrics.consumer('orders', 'email', 'email-1')
    for (let message = 0; message < 15; message++) meter.settled(false, undefined)
    meter.settled(true, 2)
    const { handler, consumers } = metrics.snapshot({ size: 1, busy: 0, waiting: 0 }).topics.orders?.groups.email ?? {}
    const { processed, failed, handler: own } = consumers?.['email-1'] ?? {}
    assert.deepEqual([processed, failed, own?.count, own?.max, handler?.count], [15, 1, 16, 2, 16])
  })

  it('have a conflict ratio of 0 before the first claim', () => {
    assert.equal(new MetricsRegistry().snapshot({ size: 1, busy: 0, waiting: 0 }).claimConflictRatio, 0)
  })
})
