import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
// Inside: compared cell by cell with a slow and simple way, on worlds of any shape.
import { differenceOf } from '../../src/environment/difference.ts'
import { type Cells, EnvironmentError, EnvironmentProperties, regionFilter } from '../../src/index.ts'
import { boundsOf, cellsIn } from '../../src/reading/region-read.ts'

type Row = readonly [flat: number, type: number, value: number, owner: number]

/** Few values, so that cells stay as they are often enough. */
const rowsIn = (size: number): fc.Arbitrary<Row[]> =>
  fc
    .uniqueArray(
      fc.tuple(fc.nat(size - 1), fc.nat(2), fc.integer({ min: -1, max: 1 }), fc.integer({ min: -1, max: 1 })),
      { selector: ([flat]) => flat, maxLength: 40 },
    )
    .map(rows => rows.toSorted(([a], [b]) => a - b))

const toCells = (rows: readonly Row[]): Cells => ({
  flatIndex: Int32Array.from(rows, ([flat]) => flat),
  moleculeType: Int32Array.from(rows, ([, type]) => type),
  moleculeValue: Int32Array.from(rows, ([, , value]) => value),
  ownerId: Int32Array.from(rows, ([, , , owner]) => owner),
})

const places = fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 4 }).chain(shape =>
  fc.record({
    shape: fc.constant(shape),
    corners: fc.tuple(...shape.map(length => fc.tuple(fc.nat(length - 1), fc.nat(length - 1)))),
    rows: rowsIn(shape.reduce((product, length) => product * length, 1)),
  }),
)

describe('the cells of a region', () => {
  it('are those whose every coordinate is in it, in one to four dimensions', () => {
    fc.assert(
      fc.property(places, ({ shape, corners, rows }) => {
        const world = new EnvironmentProperties({ shape, topology: 'bounded' })
        const from = corners.map(([a, b]) => Math.min(a, b))
        const to = corners.map(([a, b]) => Math.max(a, b))
        const expected = rows.filter(([flat]) =>
          world
            .toCoordinates(flat)
            .every((coordinate, axis) => coordinate >= (from[axis] ?? 0) && coordinate <= (to[axis] ?? 0)),
        )
        assert.deepEqual(cellsIn(toCells(rows), { from, to }, world), toCells(expected))
        const { first, last } = boundsOf({ from, to }, world)
        assert.ok(expected.every(([flat]) => flat >= first && flat <= last))
      }),
      { numRuns: 500 },
    )
  })

  it('are refused for an invalid region, with the reason', () => {
    const world = new EnvironmentProperties({ shape: [10, 10], topology: 'torus' })
    for (const [from, to] of [
      [[0], [9, 9]],
      [[0, 0], [9]],
      [
        [0, 0],
        [10, 9],
      ],
      [
        [-1, 0],
        [9, 9],
      ],
      [
        [5, 0],
        [4, 9],
      ],
      [
        [0, 5],
        [9, 4],
      ],
      [
        [0, 0.5],
        [9, 9],
      ],
    ] as const) {
      assert.throws(() => boundsOf({ from, to }, world), EnvironmentError, `${from} to ${to}`)
    }
  })
})

describe('a region of a torus', () => {
  const torus = { shape: [10, 4], topology: 'torus' } as const
  const columnsIn = (from: number, to: number) => {
    const isInside = regionFilter(torus, { from: [from, 0], to: [to, 3] }, true)
    return Array.from({ length: 10 }, (_, x) => x).filter(x => isInside([x, 2]))
  }

  it('may go on at the other edge', () => {
    assert.deepEqual(columnsIn(8, 1), [0, 1, 8, 9])
    assert.deepEqual(columnsIn(-2, 1), [0, 1, 8, 9])
    assert.deepEqual(columnsIn(3, 3), [3])
    assert.equal(columnsIn(5, 4).length, 10)
    assert.equal(columnsIn(0, 9).length, 10)
  })

  it('is refused if it is wider than the world, or the world is bounded', () => {
    assert.throws(() => columnsIn(0, 10), /wider than the world/)
    const bounded = { shape: [10, 4], topology: 'bounded' } as const
    assert.throws(() => regionFilter(bounded, { from: [8, 0], to: [1, 3] }, true), /world is bounded/)
  })
})

describe('the difference between two ticks', () => {
  it('has the changes, and nothing that is in both', () => {
    fc.assert(
      fc.property(rowsIn(60), rowsIn(60), (before, after) => {
        const old = new Map(before.map(row => [row[0], row]))
        const now = new Map(after.map(row => [row[0], row]))
        const set = after.filter(row => String(old.get(row[0])) !== String(row))
        const emptied = before.map(([flat]) => flat).filter(flat => !now.has(flat))
        assert.deepEqual(differenceOf(toCells(before), toCells(after)), {
          set: toCells(set),
          emptied: Int32Array.from(emptied),
        })
      }),
      { numRuns: 500 },
    )
  })
})
