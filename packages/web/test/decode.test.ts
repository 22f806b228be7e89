import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeCells } from '@tidemark/pipeline'
import { decodeCells } from '../src/page/world/decode.ts'
import { planeOf } from '../src/page/world/plane.ts'

const cells = {
  flatIndex: Int32Array.of(0, 3, 7, 250, 11_999),
  moleculeType: Int32Array.of(1, 4, 2, 3, 1),
  moleculeValue: Int32Array.of(5, -120, 0, 300_000, 1),
  ownerId: Int32Array.of(-1, 77, 2_000_000, 0, 12),
}
const bytes = encodeCells(cells)

test('decodes what the pipeline encodes', () => {
  const frame = decodeCells(bytes, 9, [120, 100], planeOf([120, 100], null, null))
  assert.deepEqual([frame.tick, frame.width, frame.height], [9, 120, 100])
  for (const [slot, at] of cells.flatIndex.entries()) {
    assert.equal(frame.type[at], cells.moleculeType[slot])
    assert.equal(frame.value[at], cells.moleculeValue[slot])
    assert.equal(frame.owner[at], cells.ownerId[slot])
  }
  assert.equal(frame.type.filter(type => type !== 0).length, cells.flatIndex.length)
})

test('cuts a plane out of a world of three dimensions', () => {
  const shape = [10, 12, 100]
  const plane = planeOf(shape, '0,1', '_,_,2')
  const frame = decodeCells(bytes, 0, shape, plane)
  // 250 = 0 + 1 · 10 + 2 · 120: x 0, y 1, z 2
  assert.equal(frame.type[10], 3)
  assert.equal(frame.type.filter(type => type !== 0).length, 1)
})

test('shows a world of one dimension as a row', () => {
  const frame = decodeCells(bytes, 0, [12_000], planeOf([12_000], null, null))
  assert.deepEqual([frame.width, frame.height, frame.type[11_999]], [12_000, 1, 1])
})

test('accepts an empty tick', () => {
  const frame = decodeCells(new Uint8Array(0), 0, [4, 4], planeOf([4, 4], null, null))
  assert.ok(frame.type.every(type => type === 0))
})

test('uses the first two axes if the address names no valid ones', () => {
  assert.deepEqual(planeOf([5, 6, 7], '2,2', null), { x: 0, y: 1, fixed: [0, 0, 0] })
  assert.deepEqual(planeOf([5, 6, 7], '0,9', '1,99,-4'), { x: 0, y: 1, fixed: [1, 5, 0] })
  assert.deepEqual(planeOf([5, 6, 7], '2,0', '_,3,_'), { x: 2, y: 0, fixed: [0, 3, 0] })
})
