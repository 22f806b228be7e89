import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Cells, encodeCells } from '@tidemark/pipeline'
// Inside: a living world, without a pipeline around it.
import { createSimulation } from '../../pipeline/src/sources/simulation/simulation.ts'
import { decodeCells } from '../src/page/world/decode.ts'
import { FrameStore } from '../src/page/world/frame-store.ts'
import { FramePacker, type PackedFrame } from '../src/page/world/packer.ts'
import type { Frame } from '../src/page/world/plane.ts'

const WIDTH = 40
const HEIGHT = 30
const ROOM = 1e9

/** A world in which one cell in ten changes with every tick; numbers of all sizes and signs. */
function frameOf(tick: number): Frame {
  const cells = WIDTH * HEIGHT
  const lastChange = (at: number): number => tick - ((tick + at * 7) % 10)
  return {
    tick,
    width: WIDTH,
    height: HEIGHT,
    type: Uint8Array.from({ length: cells }, (_, at) => (at % 3 === 0 ? 0 : (at * 31 + lastChange(at)) & 255)),
    value: Int32Array.from({ length: cells }, (_, at) => Math.imul(at, 0x9e3779b1) >> (Math.abs(lastChange(at)) % 31)),
    owner: Int32Array.from({ length: cells }, (_, at) => (at % 5 === 0 ? -(2 ** 31) + at : lastChange(at) * 70_000)),
  }
}

function frameOfCells(cells: Cells, tick: number, side: number, over: Frame | undefined): Frame {
  return decodeCells(encodeCells(cells), tick, [side, side], { x: 0, y: 1, fixed: [0, 0] }, over)
}

const packed = (ticks: readonly number[]): PackedFrame[] => {
  const packer = new FramePacker()
  return ticks.map(tick => packer.pack(() => frameOf(tick)))
}

const upTo = (last: number): number[] => Array.from({ length: last + 1 }, (_, tick) => tick)

describe('packed ticks', () => {
  it('are the same cells again, in any order of looking', () => {
    const store = new FrameStore(ROOM)
    for (const frame of packed(upTo(50))) store.add(frame)
    for (const tick of [0, 1, 2, 50, 49, 17, 16, 15, 31, 32, 33, 0]) assert.deepEqual(store.get(tick), frameOf(tick))
    assert.equal(store.get(51), undefined)
  })

  it('leave the tick alone that is shown while the next is made', () => {
    const store = new FrameStore(ROOM)
    for (const frame of packed(upTo(5))) store.add(frame)
    const shown = store.get(2)
    store.get(3)
    assert.deepEqual(shown, frameOf(2))
  })

  it('come in any order, and twice', () => {
    const store = new FrameStore(ROOM)
    for (const frame of packed([3, 1, 2, 1, 0, 3])) store.add(frame)
    for (const tick of upTo(3)) assert.deepEqual(store.get(tick), frameOf(tick))
    assert.equal(store.ticks, 4)
  })

  it('take a fraction of the bytes where little changes, and begin anew where all does', () => {
    const [start, ...next] = packed(upTo(15))
    assert.equal(start?.isStart, true)
    for (const { isStart, changes } of next) {
      assert.equal(isStart, false)
      assert.ok(changes.length * 4 < (start?.changes.length ?? 0), `${changes.length} bytes`)
    }
    const [, far] = packed([0, 1_000_003])
    assert.equal(far?.isStart, true, 'nothing of the tick before is left')
  })

  it('of a living world take less than a byte a cell: two seconds at 1000 × 1000 fit into 60 MB', () => {
    const side = 200
    const simulation = createSimulation({ seed: 'packed', shape: [side, side] })
    const packer = new FramePacker()
    const store = new FrameStore(ROOM)
    for (let tick = 0; tick < 160; tick++) {
      simulation.step()
      if (tick >= 100) store.add(packer.pack(over => frameOfCells(simulation.snapshot('run').cells, tick, side, over)))
    }
    const perCell = store.bytes / store.ticks / side ** 2
    assert.ok(perCell < 1, `${perCell} bytes a cell`)
  })

  it('are dropped by whole series, the least recently used first, and never the one that is being packed', () => {
    const frames = packed(upTo(63))
    const bytes = frames.reduce((sum, { changes }) => sum + changes.length, 0)
    const store = new FrameStore(bytes * 0.6)
    for (const frame of frames) {
      store.add(frame)
      store.get(5)
    }
    assert.ok(store.bytes <= bytes * 0.6, `${store.bytes} of ${bytes} bytes`)
    assert.deepEqual(store.get(5), frameOf(5))
    assert.deepEqual(store.get(63), frameOf(63))
    assert.equal(store.get(20), undefined)
    const tiny = new FrameStore(1)
    for (const frame of frames) tiny.add(frame)
    assert.deepEqual(tiny.get(63), frameOf(63))
    assert.ok(tiny.ticks <= 16)
  })
})
