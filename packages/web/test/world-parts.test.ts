import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { cellText } from '../src/page/world/cell-text.ts'
import { seriesCsv } from '../src/page/world/csv.ts'
import { historyOf, rowsBefore } from '../src/page/world/history.ts'
import { CORE, ENERGY, kindsOf, TOXIN } from '../src/page/world/kinds.ts'
import type { Organism } from '../src/page/world/organism.ts'
import { found, sorted } from '../src/page/world/organism-table.ts'
import { colourTable, indexOf, PICKED_SLOT } from '../src/page/world/palette.ts'
import { type Frame, fixText, planeOf } from '../src/page/world/plane.ts'
import { ROWS } from '../src/page/world/rows.ts'

const rowOf = (tick: number, width = 3): Frame => ({
  tick,
  width,
  height: 1,
  type: new Uint8Array(width).fill(1),
  value: new Int32Array(width).fill(tick),
  owner: new Int32Array(width),
})

describe('a world of one dimension', () => {
  it('has its past above it, as far as that is loaded', () => {
    const rows = new Map([8, 9, 10].map(tick => [tick, rowOf(tick)] as const))
    const drawn = historyOf(rowOf(10), { peek: tick => rows.get(tick) }, 1)
    const valueOfRow = (row: number): number | undefined => drawn.value[row * 3]
    assert.deepEqual([ROWS - 1, ROWS - 2, ROWS - 3, ROWS - 4].map(valueOfRow), [10, 9, 8, 0])
  })

  it('asks for no tick before the first', () => {
    assert.deepEqual(rowsBefore(30, 0, 10), [20, 10, 0])
  })
})

describe('molecule types', () => {
  it('have the colours of their names, whatever their number', () => {
    const kinds = kindsOf(['none', 'toxin', 'core', 'energy'])
    assert.deepEqual([...kinds.slice(1, 4)], [TOXIN, CORE, ENERGY])
  })

  it('that are unknown are told apart, and none looks like an empty cell', () => {
    const kinds = kindsOf(['empty', 'salt', 'sugar'])
    assert.notEqual(kinds[1], kinds[2])
    assert.ok(kinds.slice(1).every(kind => kind > CORE))
  })
})

describe('a picked lineage', () => {
  it('keeps its colour while the others are dimmed', () => {
    const [plain, dimmed] = [
      colourTable('lineage', { isDark: true }),
      colourTable('lineage', { isDark: true, picked: 2 }),
    ]
    const at = (slot: number): number => indexOf(slot, CORE, 40)
    assert.equal(dimmed[at(2)], plain[at(2)])
    assert.notEqual(dimmed[at(1)], plain[at(1)])
    assert.notEqual(plain[at(PICKED_SLOT)], plain[at(1)])
  })
})

describe('the plane of a world of four dimensions', () => {
  it('survives the way through the address', () => {
    const shape = [5, 6, 7, 8]
    const plane = planeOf(shape, '2,0', '_,3,_,7')
    assert.deepEqual(plane, { x: 2, y: 0, fixed: [0, 3, 0, 7] })
    assert.deepEqual(planeOf(shape, '2,0', fixText(plane)), plane)
  })

  it('stays within the world', () => {
    assert.deepEqual(planeOf([5, 6, 7], '0,1', '_,_,99').fixed, [0, 0, 6])
    assert.deepEqual(planeOf([5, 6, 7], '0,9', null), { x: 0, y: 1, fixed: [0, 0, 0] })
  })

  it('is named in the text of a cell', () => {
    const frame = { ...rowOf(4, 5), height: 1 }
    assert.equal(
      cellText({ x: 2, y: 0 }, frame, 2, ['none', 'energy'], planeOf([5, 6, 7], null, '_,_,3'), 1),
      '(2, 0, 3) energy 4',
    )
  })
})

describe('the table of organisms', () => {
  const organism = (id: number, lineage: number, energy: number): Organism => ({
    id,
    lineage,
    energy,
    parentId: null,
    birthTick: id,
    position: [0, 0],
    isDead: false,
  })
  const all = [organism(7, 1, 10), organism(71, 2, 30), organism(9, 1, 30)]
  const ids = (list: readonly Organism[]): number[] => list.map(({ id }) => id)

  it('is searched by id and by lineage', () => {
    assert.deepEqual(ids(found(all, '#7')), [7, 71])
    assert.deepEqual(ids(found(all, 'lineage 1')), [7, 9])
    assert.deepEqual(ids(found(all, ' ')), [7, 71, 9])
  })

  it('keeps equal rows in their places', () => {
    assert.deepEqual(ids(sorted(all, { by: 'energy', isUp: false })), [9, 71, 7])
    assert.deepEqual(ids(sorted(all, { by: 'age', isUp: true })), [71, 9, 7])
  })
})

describe('the series as CSV', () => {
  it('quotes names that would break a row', () => {
    const point = { tick: 1, alive: 2, births: 3, deaths: 4, meanEnergy: 5.5, cells: [0, 6] }
    assert.equal(
      seriesCsv([point], ['none', 'a, "b"']),
      'tick,alive,births,deaths,meanEnergy,"cells a, ""b"""\r\n1,2,3,4,5.5,6',
    )
  })
})
