import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
// Inside: the mark for no cell is for loops that must not make objects.
import { NO_CELL } from '../../src/environment/properties.ts'
import { EnvironmentError, EnvironmentProperties } from '../../src/index.ts'

const shapes = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 5 })
const topologies = fc.constantFrom('torus', 'bounded')
const worlds = fc.record({ shape: shapes, topology: topologies })

/** Slow and plain: counts through all cells like an odometer whose first wheel turns fastest. */
function odometer(shape: readonly number[]): number[][] {
  const all: number[][] = []
  const wheels = shape.map(() => 0)
  for (;;) {
    all.push([...wheels])
    let wheel = 0
    while (wheel < shape.length) {
      const turned = (wheels[wheel] ?? 0) + 1
      wheels[wheel] = turned === shape[wheel] ? 0 : turned
      if (turned !== shape[wheel]) break
      wheel++
    }
    if (wheel === shape.length) return all
  }
}

/** Slow and plain: every cell whose coordinates differ by one step along one axis. */
function slowNeighbours(all: number[][], flat: number, shape: readonly number[], isTorus: boolean): number[] {
  const here = all[flat] ?? []
  const isStep = (axis: number, other: number): boolean => {
    const distance = Math.abs((here[axis] ?? 0) - other)
    return distance === 1 || (isTorus && distance === (shape[axis] ?? 0) - 1 && distance > 0)
  }
  return [...all.keys()].filter(index => {
    const axes = [...here.keys()].filter(axis => all[index]?.[axis] !== here[axis])
    return axes.length === 1 && axes.every(axis => isStep(axis, all[index]?.[axis] ?? 0))
  })
}

describe('flat indices and coordinates', () => {
  it('count like an odometer, in any number of dimensions', () => {
    fc.assert(
      fc.property(worlds, world => {
        const properties = new EnvironmentProperties(world)
        const all = odometer(world.shape)
        assert.equal(properties.size, all.length)
        for (const [flat, coordinates] of all.entries()) {
          assert.deepEqual(properties.toCoordinates(flat), coordinates)
          assert.equal(properties.toFlat(coordinates), flat)
        }
      }),
    )
  })

  it('have strides from 1 up', () => {
    const properties = new EnvironmentProperties({ shape: [100, 50, 3], topology: 'torus' })
    assert.deepEqual(properties.strides, [1, 100, 5_000])
    assert.equal(properties.toFlat([7, 3, 2]), 7 + 300 + 10_000)
    assert.deepEqual(properties.toCoordinates(10_307), [7, 3, 2])
  })

  it('work up to the largest index of 32 bits', () => {
    const properties = new EnvironmentProperties({ shape: [46_340, 46_340], topology: 'torus' })
    const last = 46_340 ** 2 - 1
    assert.deepEqual(properties.toCoordinates(last), [46_339, 46_339])
    assert.equal(properties.toFlat([46_339, 46_339]), last)
  })

  it('refuse coordinates outside the world', () => {
    const properties = new EnvironmentProperties({ shape: [4, 3], topology: 'torus' })
    for (const flat of [-1, 12, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      assert.throws(() => properties.toCoordinates(flat), EnvironmentError)
      assert.throws(() => properties.neighbours(flat), EnvironmentError)
    }
    for (const coordinates of [[4, 0], [0, 3], [-1, 0], [0.5, 0], [Number.NaN, 0], [1], [1, 1, 1], []]) {
      assert.throws(() => properties.toFlat(coordinates), EnvironmentError)
    }
  })
})

describe('neighbours', () => {
  it('are the cells one step along one axis', () => {
    fc.assert(
      fc.property(worlds, fc.nat(), (world, place) => {
        const properties = new EnvironmentProperties(world)
        const flat = place % properties.size
        const expected = slowNeighbours(odometer(world.shape), flat, world.shape, world.topology === 'torus')
        assert.deepEqual(properties.neighbours(flat), expected)
      }),
    )
  })

  it('are found by steps that opposite steps undo', () => {
    fc.assert(
      fc.property(worlds, fc.nat(), fc.nat(), (world, place, any) => {
        const properties = new EnvironmentProperties(world)
        const flat = place % properties.size
        const direction = any % properties.directions
        const next = properties.step(flat, direction)
        if (next === NO_CELL) return
        const back = properties.step(next, (direction + properties.dimensions) % properties.directions)
        assert.equal(back, flat)
      }),
    )
  })

  it('lie where the vector of the direction points', () => {
    const properties = new EnvironmentProperties({ shape: [5, 5, 5], topology: 'bounded' })
    const middle = properties.toFlat([2, 2, 2])
    for (let direction = 0; direction < properties.directions; direction++) {
      const expected = properties.vector(direction).map(each => 2 + each)
      assert.deepEqual(properties.toCoordinates(properties.step(middle, direction)), expected)
    }
  })
})

describe('wrapping', () => {
  it('brings coordinates back into a torus', () => {
    const properties = new EnvironmentProperties({ shape: [4, 3], topology: 'torus' })
    assert.deepEqual(properties.wrap([-1, 7]), [3, 1])
    assert.deepEqual(properties.wrap([-4, 3]), [0, 0])
  })

  it('is refused in a bounded world, and for invalid coordinates', () => {
    const bounded = new EnvironmentProperties({ shape: [4, 3], topology: 'bounded' })
    assert.deepEqual(bounded.wrap([3, 2]), [3, 2])
    assert.throws(() => bounded.wrap([4, 0]), EnvironmentError)
    assert.throws(
      () => new EnvironmentProperties({ shape: [4, 3], topology: 'torus' }).wrap([0.5, 0]),
      EnvironmentError,
    )
  })
})

describe('an invalid shape', () => {
  const bad: readonly unknown[] = [
    [],
    [0],
    [-1, 5],
    [1.5],
    ['4'],
    4,
    null,
    [Number.NaN],
    new Array(17).fill(1),
    [2 ** 16, 2 ** 15],
  ]
  for (const shape of bad) {
    it(`is refused: ${JSON.stringify(shape)}`, () => {
      const config = { shape: shape as number[], topology: 'torus' } as const
      assert.throws(() => new EnvironmentProperties(config), EnvironmentError)
    })
  }

  it('is refused with an unknown topology too', () => {
    const config = { shape: [4], topology: 'sphere' as 'torus' }
    assert.throws(() => new EnvironmentProperties(config), { name: 'EnvironmentError', message: /sphere.*torus/ })
  })
})
