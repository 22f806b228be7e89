import assert from 'node:assert/strict'
import { test } from 'node:test'
// Inside: the records as the server writes them, without a stream around them.
import { FrameRecords } from '../../server/src/runs/frame-records.ts'
import { frameOf, PlaneReader, type PlaneStep } from '../src/page/world/frame-stream.ts'

const frames = Array.from({ length: 70 }, (_, tick) => Uint8Array.from({ length: 40 }, (_, at) => (at * tick) & 255))

/** What a server streams: 70 frames, a gap after tick 9, and the end. */
function stream(): Buffer {
  const records = new FrameRecords()
  const parts = frames.flatMap((found, place) => {
    const tick = place < 10 ? place : place + 300
    const gap = place === 10 ? [records.of({ kind: 'gap', tick: 10, last: 309 })] : []
    return [...gap, records.of({ kind: 'frame', tick, found })]
  })
  return Buffer.concat([...parts, records.of({ kind: 'end', tick: 371 })])
}

test('reads frames and gaps as the server writes them, in pieces of any size', () => {
  const bytes = stream()
  for (const size of [1, 7, 1_000, bytes.length]) {
    const reader = new PlaneReader()
    const steps: PlaneStep[] = []
    for (let at = 0; at < bytes.length; at += size) steps.push(...reader.read(bytes.subarray(at, at + size)))
    const pixels = steps.flatMap(step => ('pixels' in step ? [[...step.pixels]] : []))
    assert.deepEqual(
      pixels,
      frames.map(frame => [...frame]),
      `pieces of ${size} bytes`,
    )
    assert.deepEqual(steps[10], { tick: 10, missingTo: 309 })
    assert.equal(steps.at(-1)?.tick, 369)
  }
})

test('says what the server says when a stream ends early', () => {
  const problem = { type: 'about:blank', title: 'Gone', status: 404, detail: 'Run 7 was removed', code: 'GONE' }
  const bytes = new FrameRecords().problem(4, problem as never)
  assert.throws(() => new PlaneReader().read(bytes), /Run 7 was removed/)
})

test('makes a frame of three planes, with numbers of four bytes', () => {
  const numbers = (...given: number[]) => new Uint8Array(Int32Array.from(given).buffer)
  const frame = frameOf(5, 2, 1, [Uint8Array.of(1, 4), numbers(-3, 70_000), numbers(0, 12)])
  assert.deepEqual(
    [[...frame.type], [...frame.value], [...frame.owner]],
    [
      [1, 4],
      [-3, 70_000],
      [0, 12],
    ],
  )
})
