import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Histogram } from '../../src/observe/metrics/histogram.ts'
import { Meter, presentSecond } from '../../src/observe/metrics/meter.ts'
import { MetricsRegistry } from '../../src/observe/metrics/metrics.ts'
import { Scope } from '../../src/observe/metrics/scope.ts'

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

describe('a percentile', () => {
  it('is that of the lower of two, and never above the maximum', () => {
    const histogram = new Histogram()
    histogram.record(5)
    assert.deepEqual(histogram.snapshot(), { count: 1, p50: 5, p95: 5, p99: 5, max: 5 })
    histogram.record(1_000)
    const { p50, p95 } = histogram.snapshot()
    assert.ok(p50 < 6, `${p50}`)
    assert.equal(p95, 1_000)
  })
})

describe('a meter', () => {
  it('forgets each second once, when it is a minute old', () => {
    const first = presentSecond()
    const meter = new Meter(first)
    meter.add(5, first)
    meter.add(7, first + 30)
    const sums = [59, 60, 89, 90].map(after => meter.lastMinute(first + after))
    assert.deepEqual(sums, [12, 7, 7, 0])
    meter.add(1, first + 120)
    assert.deepEqual([meter.lastMinute(first + 179), meter.lastMinute(first + 180), meter.total], [1, 0, 13])
  })

  it('forgets everything after minutes without an event', () => {
    const first = presentSecond()
    const meter = new Meter(first)
    meter.add(5, first)
    assert.equal(meter.lastMinute(first + 1_000), 0)
  })

  it('has the rate of its lifetime, and after that of a minute', () => {
    const first = presentSecond()
    const meter = new Meter(first)
    meter.add(60, first)
    assert.deepEqual(
      [0, 2, 30, 59].map(after => meter.rate(first + after)),
      [60, 30, 2, 60 / 59],
    )
    meter.add(60, first + 100)
    assert.equal(meter.rate(first + 100), 1)
  })

  it('ages in what was read of it before', () => {
    const scope = new Scope()
    const first = presentSecond() + 1
    scope.add('acked', 60, first)
    const rates = [0, 20, 20, 100].map(after => scope.snapshot(first + after).rates.acked)
    assert.ok((rates[0] ?? 0) > (rates[1] ?? 0) && rates[1] === rates[2] && rates[3] === 0, rates.join())
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
