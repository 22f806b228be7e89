import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LivePace } from '../src/page/world/live-pace.ts'

/** A run of 25 ticks a second whose end is heard of in batches, watched at 60 frames a second. */
function watch(seconds: number, batchMs: number) {
  const pace = new LivePace()
  const shown: number[] = []
  let end = 0
  for (let frame = 0; frame < seconds * 60; frame++) {
    const now = 1_000 + frame * (1_000 / 60)
    const heard = Math.floor((now - 1_000) / batchMs) * batchMs * 0.025
    if (frame === 0 || heard > end) {
      end = heard
      pace.saw(end, now)
    }
    shown.push(pace.tickAt(now))
  }
  return { pace, shown, end }
}

test('moves evenly though the end of the run moves by batches', () => {
  const { shown } = watch(30, 1_500)
  const settled = shown.slice(15 * 60)
  const steps = settled.slice(1).map((tick, index) => tick - (settled[index] ?? 0))
  // A frame is 25 / 60 of a tick; a batch is 37.5.
  assert.ok(Math.min(...steps) >= 0, 'it never goes back')
  assert.ok(Math.max(...steps) < 1, `a step of ${Math.max(...steps)} ticks`)
})

test('stays behind the end by about the time of two batches', () => {
  const { shown, end } = watch(30, 1_500)
  const behind = end - (shown.at(-1) ?? 0)
  assert.ok(behind >= 0 && behind < 4 * 25, `${behind} ticks behind`)
})

test('measures the pace of the run', () => {
  const { pace } = watch(30, 1_000)
  assert.ok(Math.abs(pace.perSecond(31_000) - 25) < 3)
})

test('walks to the last tick of a run that has ended', () => {
  const { pace, end } = watch(10, 1_000)
  let last = 0
  for (let now = 11_000; now < 40_000; now += 100) last = pace.tickAt(now)
  assert.equal(last, end)
})

test('begins shortly before the end while the pace is not known, and walks there', () => {
  const pace = new LivePace()
  pace.saw(4_000, 0)
  const first = pace.tickAt(10)
  assert.ok(first > 3_900 && first < 3_960, `begins at ${first}`)
  let last = first
  for (let now = 20; now < 6_000; now += 16) last = pace.tickAt(now)
  assert.equal(last, 4_000)
})
