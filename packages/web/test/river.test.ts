import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { GroupLane, GroupLive, Lanes } from '../src/page/shapes.ts'
import { gathered } from '../src/page/topics/river/gathered.ts'
import { afterEvent, withLane, zoomedLanes } from '../src/page/topics/river/merged-lanes.ts'
import { densityOf, scaleOf, timeTicks } from '../src/page/topics/river/scale.ts'

const START = Date.parse('2026-11-18T12:00:00.000Z')
const at = (seconds: number): string => new Date(START + seconds * 1_000).toISOString()

/** Ten messages in the first ten seconds, ninety in the next. */
const buckets = [
  { position: 1, at: at(0), count: 10 },
  { position: 11, at: at(10), count: 90 },
]

test('places messages by their time, and finds them again by their place', () => {
  const scale = scaleOf(buckets, 100, START + 20_000)
  assert.ok(scale)
  assert.equal(scale.xOf(1), 0)
  assert.equal(scale.xOf(11), 0.5)
  assert.equal(scale.xOf(101), 1)
  assert.equal(scale.xOf(56), 0.75)
  assert.equal(scale.positionAt(0.75), 56)
  assert.equal(scale.timeAt(0.25), START + 5_000)
  assert.deepEqual([scale.xOf(-5), scale.xOf(5_000), scale.positionAt(7)], [0, 1, 101])
})

test('draws nothing of an empty log, and one message at the left', () => {
  assert.equal(scaleOf([], 0, START), undefined)
  const one = scaleOf([{ position: 7, at: at(0), count: 1 }], 7, START)
  assert.equal(one?.xOf(7), 0)
  assert.equal(one?.xOf(8), 1)
})

test('takes a log whose times run backwards for a moment', () => {
  const scale = scaleOf(
    [
      { position: 1, at: at(5), count: 1 },
      { position: 2, at: at(4), count: 1 },
      { position: 3, at: at(9), count: 1 },
    ],
    3,
    START + 10_000,
  )
  assert.ok(scale)
  const places = [1, 2, 3, 4].map(scale.xOf)
  assert.deepEqual(
    places,
    places.toSorted((one, other) => one - other),
  )
})

test('makes the busier part the taller one', () => {
  const scale = scaleOf(buckets, 100, START + 20_000)
  assert.ok(scale)
  assert.deepEqual(densityOf(scale, 2), [
    { perSecond: 1, height: 1 / 9 },
    { perSecond: 9, height: 1 },
  ])
  const total = densityOf(scale, 40).reduce((sum, { perSecond }) => sum + perSecond / 2, 0)
  assert.equal(Math.round(total), 100)
})

test('writes round times, no more than fit, by the clock of the reader', () => {
  const hour = timeTicks(START + 1, START + 3_600_000, 8)
  assert.equal(hour.stepMs, 600_000)
  assert.equal(hour.at[0], START + 600_000)
  assert.equal(hour.at.length, 6)
  const days = timeTicks(START, START + 5 * 86_400_000, 6, 3_600_000)
  assert.equal(days.stepMs, 86_400_000)
  assert.equal(new Date(days.at[0] ?? 0).toISOString(), '2026-11-18T23:00:00.000Z')
})

test('draws marks on the same pixels as one', () => {
  const marks = gathered([40, 1, 2, 41], id => id / 100, 100)
  assert.deepEqual(marks, [
    { x: 1, ids: [1, 2] },
    { x: 40, ids: [40, 41] },
  ])
})

const lane = (group: string, cursor: number): GroupLane => ({
  group,
  status: 'ACTIVE',
  healthy: true,
  cursor,
  watermark: cursor,
  lagMessages: 100 - cursor,
  lagMs: 0,
  inFlight: 0,
  retryCount: 2,
  deadLetterCount: 3,
  leases: [],
  retries: [],
  deadLetters: [cursor],
})
const lanes = (...groups: GroupLane[]): Lanes => ({ takenAt: at(0), first: 1, last: 100, buckets, groups })

test('keeps what an event does not name, and forgets groups that a whole one leaves out', () => {
  const before = lanes(lane('email', 5), lane('audit', 7))
  const event = { ...lanes(lane('email', 9)), topic: 't', buckets: null, last: 101 }
  const after = afterEvent(before, { ...event, whole: false })
  assert.deepEqual(
    after?.groups.map(({ group, cursor }) => [group, cursor]),
    [
      ['email', 9],
      ['audit', 7],
    ],
  )
  assert.deepEqual(after?.buckets, [...buckets, { position: 101, at: at(0), count: 1 }])
  assert.equal(after?.last, 101)
  assert.equal(afterEvent(before, { ...event, whole: true })?.groups.length, 1)
  assert.equal(afterEvent(undefined, { ...event, whole: false }), undefined)
})

test('moves the groups of a zoomed part, and leaves its marks', () => {
  const [group] = zoomedLanes(lanes(lane('email', 5)), lanes(lane('email', 50))).groups
  assert.deepEqual([group?.cursor, group?.deadLetters], [50, [5]])
  const live = withLane({ group: 'email', members: 2, lagMessages: 1 } as GroupLive, lane('email', 60))
  assert.deepEqual([live.members, live.lagMessages, live.retries, live.deadLetters], [2, 40, 2, 3])
})
