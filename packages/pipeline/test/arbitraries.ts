import fc from 'fast-check'
import { type Cells, makeRunId, type Organism, type Tick } from '../src/index.ts'

export const RUN_ID = makeRunId(Date.UTC(2025, 9, 14, 14, 30, 25, 500), '550e8400-e29b-41d4-a716-446655440000')

const int32 = fc.oneof(
  fc.integer({ min: -200, max: 200 }),
  fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
  fc.constantFrom(-(2 ** 31), 2 ** 31 - 1, 63, 64, -64, -65, 127, 128),
)
const natural31 = fc.oneof(fc.integer({ min: 0, max: 200 }), fc.integer({ min: 0, max: 2 ** 31 - 1 }))
const natural53 = fc.oneof(fc.integer({ min: 0, max: 300 }), fc.maxSafeNat())

export const cellsArbitrary: fc.Arbitrary<Cells> = fc.uniqueArray(natural31, { maxLength: 40 }).chain(indexes =>
  plainRecord({
    flatIndex: fc.constant(Int32Array.from(indexes).sort()),
    moleculeType: columnOf(natural31, indexes.length),
    moleculeValue: columnOf(int32, indexes.length),
    ownerId: columnOf(int32, indexes.length),
  }),
)

const organismArbitrary: fc.Arbitrary<Organism> = plainRecord({
  id: natural53,
  parentId: fc.option(natural53),
  birthTick: natural53,
  lineage: natural53,
  energy: fc.double(),
  position: fc.array(int32, { maxLength: 5 }),
  direction: fc.array(int32, { maxLength: 5 }),
  genome: fc.uint8Array({ maxLength: 200 }).map(bytes => Uint8Array.from(bytes)),
  isDead: fc.boolean(),
})

export const tickArbitrary: fc.Arbitrary<Tick> = plainRecord({
  runId: fc.constant(RUN_ID),
  tick: natural53,
  capturedAt: natural53,
  cells: cellsArbitrary,
  organisms: fc.array(organismArbitrary, { maxLength: 4 }),
})

function columnOf(values: fc.Arbitrary<number>, length: number): fc.Arbitrary<Int32Array> {
  return fc.array(values, { minLength: length, maxLength: length }).map(array => Int32Array.from(array))
}

/** fast-check's records have no prototype unless told so, and deepEqual minds. */
export function plainRecord<T>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<T> {
  return fc.record<T>(model, { noNullPrototype: true }) as fc.Arbitrary<T>
}
