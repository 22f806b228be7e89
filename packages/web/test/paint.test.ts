import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kindsOf } from '../src/page/world/kinds.ts'
import { Lineages } from '../src/page/world/lineages.ts'
import { paintFrame } from '../src/page/world/paint.ts'
import { colourTable } from '../src/page/world/palette.ts'
import type { Frame } from '../src/page/world/plane.ts'

function frameOf(
  width: number,
  height: number,
  cells: readonly (readonly [at: number, type: number, value: number])[],
): Frame {
  const size = width * height
  const frame = {
    tick: 0,
    width,
    height,
    type: new Uint8Array(size),
    value: new Int32Array(size),
    owner: new Int32Array(size),
  }
  for (const [at, type, value] of cells) {
    frame.type[at] = type
    frame.value[at] = value
  }
  return frame
}

const NAMES = ['empty', 'energy', 'structure', 'toxin', 'core']
const paint = { table: colourTable('type', { isDark: true }), kinds: kindsOf(NAMES), slots: new Uint8Array(16) }
const empty = paint.table[0]

test('gives each type its own colour, and empty cells that of the ground', () => {
  const frame = frameOf(5, 1, [
    [0, 1, 50],
    [1, 2, 50],
    [2, 3, 50],
    [3, 4, 50],
  ])
  const pixels = new Uint32Array(5)
  paintFrame(frame, paint, 1, pixels)
  assert.equal(pixels[4], empty)
  assert.equal(new Set(pixels).size, 5)
})

test('shows the most significant cell of a block when zoomed out', () => {
  const single = new Uint32Array(1)
  paintFrame(frameOf(1, 1, [[0, 4, 9]]), paint, 1, single)
  const frame = frameOf(8, 8, [
    [0, 1, 1_000],
    [9, 2, 500],
    [63, 4, 9],
  ])
  const pixels = new Uint32Array(1)
  paintFrame(frame, paint, 8, pixels)
  assert.equal(pixels[0], single[0])
})

test('paints worlds that are no multiple of the step', () => {
  const frame = frameOf(5, 3, [[14, 4, 1]])
  const pixels = new Uint32Array(3 * 2)
  paintFrame(frame, paint, 2, pixels)
  assert.notEqual(pixels[5], empty)
  assert.ok(pixels.slice(0, 5).every(pixel => pixel === empty))
})

const organism = (id: number, lineage: number, isDead = false) => ({
  id,
  lineage,
  isDead,
  parentId: null,
  birthTick: 0,
  energy: 1,
  position: [0, 0],
})

test('keeps the colour of a lineage while it is among the largest', () => {
  const lineages = new Lineages()
  lineages.update([organism(1, 10), organism(2, 10), organism(3, 20)])
  const [first, second] = [lineages.slotOf(10), lineages.slotOf(20)]
  lineages.update([organism(3, 20), organism(4, 20), organism(5, 30), organism(6, 10)])
  assert.deepEqual([lineages.slotOf(10), lineages.slotOf(20)], [first, second])
  assert.equal(new Set([first, second, lineages.slotOf(30)]).size, 3)
})

test('colours the trails of the dead as their lineage', () => {
  const lineages = new Lineages()
  lineages.update([organism(1, 10), organism(2_000, 10)])
  lineages.update([organism(2_000, 10)])
  assert.equal(lineages.owners[1], lineages.slotOf(10))
  assert.equal(lineages.owners[2_000], lineages.slotOf(10))
})

test('shares one colour among all but the seven largest lineages', () => {
  const lineages = new Lineages()
  const all = Array.from({ length: 9 }, (_, lineage) =>
    Array.from({ length: 10 - lineage }, (_, index) => organism(lineage * 100 + index + 1, lineage)),
  ).flat()
  lineages.update(all)
  assert.equal(lineages.sizes.length, 7)
  assert.equal(lineages.slotOf(7), lineages.slotOf(8))
})
