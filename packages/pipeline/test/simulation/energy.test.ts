import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
// Inside: the simulation step by step, without the service that paces and encodes it.
import { createSimulation, type Simulation } from '../../src/sources/simulation/simulation.ts'
import { RUN, smallWorlds } from './worlds.ts'

const CORE = 4

describe('energy', () => {
  it('is neither created nor lost, in any tick of any world', () => {
    fc.assert(
      fc.property(smallWorlds, options => {
        const simulation = createSimulation(options)
        const total = simulation.settings.energyPerCell * options.shape.reduce((a, b) => a * b, 1)
        for (let tick = 0; tick < 200; tick++) {
          const { reserve, cells } = simulation.energy()
          assert.equal(reserve + cells, total, `at tick ${tick}`)
          assert.ok(reserve >= 0)
          simulation.step()
        }
      }),
    )
  })
})

describe('organisms', () => {
  it('have one core each, where they are, with their energy; and the totals add up', () => {
    fc.assert(
      fc.property(smallWorlds, options => {
        const simulation = createSimulation(options)
        for (let tick = 0; tick < 150; tick++) {
          checkCores(simulation)
          simulation.step()
        }
      }),
    )
  })
})

function checkCores(simulation: Simulation): void {
  const { cells, organisms } = simulation.snapshot(RUN)
  const { strides } = simulation.settings.shape.reduce(
    ({ strides, size }, length) => ({ strides: [...strides, size], size: size * length }),
    { strides: [] as number[], size: 1 },
  )
  const cores = new Map<number, readonly [cell: number, energy: number]>()
  for (const [slot, cell] of cells.flatIndex.entries()) {
    const [owner, value] = [cells.ownerId[slot] ?? -1, cells.moleculeValue[slot] ?? -1]
    assert.ok(value > 0, 'what has no value is no molecule')
    if (cells.moleculeType[slot] !== CORE) continue
    assert.ok(!cores.has(owner), `organism ${owner} has two cores`)
    cores.set(owner, [cell, value])
  }
  const living = organisms.filter(organism => !organism.isDead)
  const expected = living.map(({ id, position, energy }) => {
    const cell = position.reduce((sum, coordinate, axis) => sum + coordinate * (strides[axis] ?? 0), 0)
    return [id, [cell, energy]] as const
  })
  assert.deepEqual(cores, new Map(expected))
  assert.equal(simulation.alive, living.length)
  assert.equal(simulation.settings.organisms + simulation.births - simulation.deaths, living.length)
}
