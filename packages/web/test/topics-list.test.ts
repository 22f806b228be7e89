import assert from 'node:assert/strict'
import { test } from 'node:test'
import { windowOf } from '../src/page/parts/window-of.ts'
import type { GroupLive, TopicLive } from '../src/page/shapes.ts'
import { advance, batches, fromHistory, POINTS, type RecentRates } from '../src/page/topics/recent-rates.ts'
import { choose, ordered, sortedBy } from '../src/page/topics/topics-order.ts'

const topic = (name: string, lag: number, rate: number, bytes: number | null = null): TopicLive =>
  ({
    topic: name,
    kept: lag,
    bytes,
    oldestAt: null,
    publishedPerSecond: rate,
    groups: [{ group: `${name}-group`, lagMessages: lag } as GroupLive],
    totals: { groups: 1, lagMessages: lag, deadLetters: 0, late: 0, paused: 0, dead: 0, cancelled: 0 },
  }) as unknown as TopicLive

const names = (topics: readonly TopicLive[]): string[] => topics.map(each => each.topic)

test('sorts topics as the address says, equal ones by name', () => {
  const topics = [topic('b', 5, 1), topic('a', 5, 9), topic('c', 80, 0)]
  assert.deepEqual(names(ordered(topics, '', sortedBy(null))), ['a', 'b', 'c'])
  assert.deepEqual(names(ordered(topics, '', sortedBy('lag'))), ['c', 'a', 'b'])
  assert.deepEqual(names(ordered(topics, '', sortedBy('-lag'))), ['a', 'b', 'c'])
  assert.deepEqual(names(ordered(topics, '', sortedBy('rate'))), ['a', 'b', 'c'])
  assert.deepEqual(names(ordered(topics, '', sortedBy('nonsense'))), ['a', 'b', 'c'])
})

test('reverses an order when it is selected again', () => {
  assert.equal(choose(sortedBy('lag'), 'lag'), '-lag')
  assert.equal(choose(sortedBy('-lag'), 'lag'), 'lag')
  assert.equal(choose(sortedBy('lag'), 'name'), 'name')
})

test('finds a topic by its name or that of a group, whatever the case', () => {
  const topics = [topic('Orders', 1, 1), topic('mail', 1, 1)]
  assert.deepEqual(names(ordered(topics, 'ORD', sortedBy(null))), ['Orders'])
  assert.deepEqual(names(ordered(topics, 'mail-g', sortedBy(null))), ['mail'])
})

test('continues a history with live figures, and leaves unknown what nobody saw', () => {
  const end = '2026-11-18T12:00:05.000Z'
  const known = fromHistory(new Map(), { end, series: { 'topic:a': { published: [1, 2, 99] } } }, ['a', 'b'])
  assert.deepEqual(known.get('a')?.values.slice(-3), [null, 1, 2])
  assert.equal(known.get('a')?.values.length, POINTS)
  assert.ok(known.get('b')?.values.every(value => value === null))
  const slot = known.get('a')?.slot ?? 0
  const later = advance(known, slot + 2, name => (name === 'a' ? 7 : undefined))
  assert.deepEqual(later.get('a')?.values.slice(-4), [1, 2, null, 7])
  assert.equal(
    advance(later, slot + 2, () => 8),
    later,
  )
  const muchLater: RecentRates = advance(later, slot + 500, () => 3)
  assert.equal(muchLater.get('a')?.values.length, POINTS)
  assert.equal(muchLater.get('a')?.values.at(-1), 3)
})

test('asks for the history of many topics in addresses that a server takes', () => {
  const topics = Array.from({ length: 500 }, (_, index) => `${'long-name.'.repeat(12)}${index}`)
  const asked = batches(topics)
  assert.deepEqual(asked.flat(), topics)
  assert.ok(asked.every(some => encodeURIComponent(some.map(each => `topic:${each}`).join()).length < 8_000))
  assert.deepEqual(batches([]), [])
})

test('draws the visible rows and a few around them', () => {
  assert.deepEqual(windowOf(500, 40, -200, 900), { first: 0, count: 30 })
  assert.deepEqual(windowOf(500, 40, 4_000, 800), { first: 88, count: 44 })
  assert.deepEqual(windowOf(500, 40, 19_600, 800), { first: 478, count: 22 })
  assert.deepEqual(windowOf(0, 40, 0, 800), { first: 0, count: 0 })
})
