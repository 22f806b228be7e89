import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  type Cells,
  encodeCells,
  environmentIndexer,
  openRunIndex,
  organismIndexer,
  planTile,
  type Region,
  readTile,
  type SimulationMetadata,
  TileMakers,
  type TileRequest,
} from '@tidemark/pipeline'
import fc from 'fast-check'
// Inside: whole worlds as pictures, without an index around them.
import { makeTile } from '../../src/tiles/make-tile.ts'
import { ENGINES } from '../engines.ts'
import { flushInto, metadataOf, organismOf, prepareIndex, tickOf } from './ticks.ts'

const TYPES = ['empty', 'energy', 'structure', 'toxin', 'core']
const world = (shape: readonly number[], topology: 'torus' | 'bounded' = 'torus'): SimulationMetadata =>
  metadataOf('none', { environment: { shape, topology }, moleculeTypes: TYPES })

const cells = (rows: readonly (readonly [flat: number, type: number, value?: number, owner?: number])[]): Cells => ({
  flatIndex: Int32Array.from(rows, row => row[0]),
  moleculeType: Int32Array.from(rows, row => row[1]),
  moleculeValue: Int32Array.from(rows, row => row[2] ?? 0),
  ownerId: Int32Array.from(rows, row => row[3] ?? 0),
})

const request = (given: Partial<TileRequest> = {}): TileRequest => ({
  size: { width: 512, height: 512 },
  plane: 'type',
  reduce: 'telling',
  ...given,
})

const tile = (metadata: SimulationMetadata, of: Cells, given: Partial<TileRequest> = {}): number[] => [
  ...makeTile({ bytes: encodeCells(of), compression: 'none' }, planTile(metadata, request(given))),
]

describe('a tile', () => {
  const four = cells([
    [0, 1, 7, 0],
    [1, 4, -3, 9],
    [4, 3, 5, 8],
    [5, 2, 6, 9],
  ])

  it('shows the most telling cell of a pixel: core, toxin, structure, energy', () => {
    const size = { width: 1, height: 1 }
    const of = (...types: number[]) => tile(world([4, 1]), cells(types.map((type, flat) => [flat, type])), { size })
    assert.deepEqual([of(1, 2, 3, 4), of(4, 3, 2, 1), of(1, 2, 3), of(2, 1), of(1)], [[4], [4], [3], [2], [1]])
    // What another simulation has is between energy and structure.
    assert.deepEqual([of(1, 9), of(9, 2), of(8, 9)], [[9], [2], [9]])
    assert.deepEqual([of(300), of()], [[255], [0]])
  })

  it('shows the value or the owner of that cell, the largest value, or the mean', () => {
    const metadata = world([4, 2])
    const size = { width: 1, height: 1 }
    assert.deepEqual(tile(metadata, four, { size, plane: 'value' }), [-3])
    assert.deepEqual(tile(metadata, four, { size, plane: 'owner' }), [9])
    assert.deepEqual(tile(metadata, four, { size, plane: 'value', reduce: 'max' }), [7])
    assert.deepEqual(tile(metadata, four, { size, plane: 'value', reduce: 'mean' }), [4])
    const negative = cells([[0, 1, -9], [1, 1, -5]]) // biome-ignore format: as a picture
    assert.deepEqual(tile(metadata, negative, { size, plane: 'value', reduce: 'max' }), [-5])
    for (const plane of ['type', 'owner', 'lineage'] as const) {
      assert.throws(() => tile(metadata, four, { plane, reduce: 'mean' }), { code: 'TIDEMARK_ENVIRONMENT' })
    }
  })

  it('is never finer than the cells, and keeps the aspect of the world on request', () => {
    const size = { width: 3, height: 3 }
    const shapeOf = ({ x, y }: ReturnType<typeof planTile>) => [x.pixels, y.pixels]
    assert.deepEqual(shapeOf(planTile(world([2, 2]), request({ size }))), [2, 2])
    assert.deepEqual(shapeOf(planTile(world([6, 2]), request({ size }))), [3, 2])
    assert.deepEqual(shapeOf(planTile(world([6, 2]), request({ size, keepAspect: true }))), [3, 1])
    assert.deepEqual(shapeOf(planTile(world([2 ** 30]), request({ size }))), [3, 1])
  })

  it('crosses the edges of a torus', () => {
    const metadata = world([4, 2])
    const of = (region: Region) => tile(metadata, four, { region, wrap: true })
    assert.deepEqual(of({ from: [3, 1], to: [1, 0] }), [0, 3, 2, 0, 1, 4])
    assert.deepEqual(of({ from: [-1, -1], to: [1, 0] }), [0, 3, 2, 0, 1, 4])
    assert.deepEqual(of({ from: [7, 3], to: [9, 4] }), [0, 3, 2, 0, 1, 4])
  })

  it('refuses an invalid region, and says what to do', () => {
    const refused: [Region, boolean, RegExp][] = [
      [{ from: [3, 0], to: [1, 1] }, false, /ends before it starts.*wrap/],
      [{ from: [-1, 0], to: [1, 1] }, false, /outside the world/],
      [{ from: [0, 0], to: [4, 1] }, false, /outside the world/],
      [{ from: [0, 0], to: [4, 1] }, true, /wider than the world/],
      [{ from: [0], to: [1] }, false, /2 dimensions/],
      [{ from: [0, 0, 0], to: [1, 1, 1] }, true, /2 dimensions/],
    ]
    for (const [region, wrap, message] of refused) {
      assert.throws(() => planTile(world([4, 2]), request({ region, wrap })), { code: 'TIDEMARK_ENVIRONMENT', message })
    }
    assert.throws(() => planTile(world([4, 2], 'bounded'), request({ wrap: true })), /bounded/)
    const cube = { from: [0, 0, 0], to: [1, 1, 1] }
    assert.throws(() => planTile(world([2, 2, 2]), request({ region: cube })), /3 dimensions \(0, 1, 2\)/)
  })

  it('is a row of a world of one dimension, and a plane of a world of four', () => {
    assert.deepEqual(tile(world([5]), cells([[1, 4], [4, 1]])), [0, 4, 0, 0, 1]) // biome-ignore format: as a picture
    const shape = [2, 3, 2, 2]
    const at = (...c: number[]) => (c[0] ?? 0) + 2 * (c[1] ?? 0) + 6 * (c[2] ?? 0) + 12 * (c[3] ?? 0)
    const some = cells([
      [at(0, 0, 0, 0), 1],
      [at(1, 2, 0, 0), 2],
      [at(1, 2, 1, 0), 3],
      [at(1, 0, 1, 1), 4],
    ])
    assert.deepEqual(tile(world(shape), some), [1, 0, 0, 0, 0, 2])
    const of = (from: number[], to: number[]) => tile(world(shape), some, { region: { from, to } })
    assert.deepEqual(of([0, 0, 1, 1], [1, 2, 1, 1]), [0, 4, 0, 0, 0, 0])
    // The third dimension across, the fourth down.
    assert.deepEqual(of([1, 0, 0, 0], [1, 0, 1, 1]), [0, 0, 0, 4])
  })

  it('matches the cells, for any part of any world', () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 3 })
    fc.assert(
      fc.property(
        sizes,
        fc.integer(),
        fc.integer({ min: 0, max: 5 }),
        fc.integer({ min: 0, max: 5 }),
        (shape, salt, dx, dy) => {
          const metadata = world(shape)
          const total = shape.reduce((product, length) => product * length, 1)
          const all = cells(Array.from({ length: total }, (_, flat) => [flat, 1 + (Math.abs(flat * 7 + salt) % 4)]))
          const [width = 1, height = 1] = shape
          const shift = [dx, dy].slice(0, Math.min(2, shape.length))
          const rest = shape.slice(2).map(length => length - 1)
          const region = {
            from: [...shift, ...rest],
            to: [...shift.map((start, axis) => start + (shape[axis] ?? 1) - 1), ...rest],
          }
          const base = rest.reduce(
            (sum, place, axis) => sum + place * shape.slice(0, axis + 2).reduce((a, b) => a * b, 1),
            0,
          )
          const expected = Array.from({ length: width * height }, (_, at) => {
            const x = ((at % width) + dx) % width
            const y = (Math.floor(at / width) + (shape.length > 1 ? dy : 0)) % height
            return all.moleculeType[base + y * width + x]
          })
          assert.deepEqual(tile(metadata, all, { region, wrap: true }), expected)
        },
      ),
      { numRuns: 100 },
    )
  })
})

for (const engine of ENGINES) {
  describe(`a tile of an indexed tick, on ${engine.name}`, () => {
    it('is rendered in a thread if the world is large, with the lineages of all owners', async () => {
      await using place = await engine.fresh()
      const database = await place.open()
      const shape = [300, 200]
      const metadata = metadataOf(place.runId, { environment: { shape, topology: 'torus' }, moleculeTypes: TYPES })
      const indexers = [environmentIndexer(), organismIndexer()]
      await prepareIndex(database, metadata, indexers)
      const of = cells([[0, 4, 1, 5], [299, 4, 1, 6], [300, 2, 1, 7], [301, 1, 1, 0], [59_999, 4, 1, 99]]) // biome-ignore format: as a picture
      const organisms = [organismOf(5, { lineage: 50 }), organismOf(6, { lineage: 60 }), organismOf(7, { lineage: 70 })]
      for (const indexer of indexers)
        await flushInto(database, indexer, [tickOf(place.runId, 3, { cells: of, organisms })])
      await using run = await openRunIndex(place.address, place.runId)
      await using makers = new TileMakers()
      const size = { width: 300, height: 200 }
      const pixels = await readTile(run, 3, planTile(metadata, request({ plane: 'lineage', size })), makers)
      assert.ok(pixels instanceof Int32Array && pixels.length === 60_000)
      assert.deepEqual([pixels[0], pixels[299], pixels[300], pixels[301], pixels[59_999]], [50, 60, 70, 0, 0])
      const owners = await readTile(run, 3, planTile(metadata, request({ plane: 'owner', size })), makers)
      assert.deepEqual([owners?.[0], owners?.[59_999]], [5, 99])
      assert.equal(await readTile(run, 4, planTile(metadata, request()), makers), null)
      const damaged = engine.name === 'SQLite' ? "x'0a05ffff'" : "'\\x0a05ffff'"
      await place.execute(`update run.environment_tick set data = ${damaged}`)
      await assert.rejects(readTile(run, 3, planTile(metadata, request({ size })), makers), { code: /TIDEMARK_INDEX/ })
    })
  })
}
