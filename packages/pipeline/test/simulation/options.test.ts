import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
// Inside: the simulation step by step, without the service that paces and encodes it.
import { createSimulation } from '../../src/sources/simulation/simulation.ts'
import { SimulationSource } from '../../src/sources/simulation/simulation-source.ts'

describe('options of a simulation', () => {
  const bad: readonly (readonly [option: string, value: unknown, allowed: RegExp])[] = [
    ['seed', '', /1 to 256 characters/],
    ['seed', 7, /text/],
    ['shape', [], /\[100, 100\]/],
    ['shape', [0, 4], /whole numbers from 1/],
    ['shape', [100_000, 100_000], /at most 16777216/],
    ['shape', '100x100', /whole numbers/],
    ['topology', 'sphere', /'torus' or 'bounded'/],
    ['organisms', 0, /1 to 10000/],
    ['organisms', 10_001, /1 to 10000/],
    ['organisms', 2.5, /whole number/],
    ['energyPerCell', -1, /1 to 1000/],
    ['growth', 1.1, /0 to 1/],
    ['growth', Number.NaN, /0 to 1/],
    ['mutationRate', '0.5', /0 to 1/],
    ['lifespan', 0, /1 to 1000000/],
    ['driftInterval', -1, /0 to 1000000/],
    ['startedAt', -1, /whole number/],
    ['colour', 'red', /one of seed, shape/],
  ]
  for (const [option, value, allowed] of bad) {
    it(`refuse ${option}: ${JSON.stringify(value)}, and say what is allowed`, () => {
      const options = { seed: 'a', [option]: value }
      assert.throws(() => createSimulation(options), { name: 'SimulationOptionError', option, value, allowed })
    })
  }

  it('name the option and its value in the message', () => {
    assert.throws(() => createSimulation({ seed: 'a', growth: 2 }), {
      message: "Option 'growth' is 2; allowed: a number from 0 to 1",
    })
  })

  it('are needed', () => {
    const call = createSimulation as (options?: unknown) => void
    for (const options of [undefined, null, 'a']) assert.throws(() => call(options), { name: 'SimulationOptionError' })
  })
})

describe('options of a source', () => {
  const simulation = createSimulation({ seed: 'a', shape: [4] })
  const sink = { put: async () => {} }
  for (const bad of [{ samplingInterval: 0 }, { samplingInterval: 1.5 }, { ticksPerSecond: 0 }, { maxTicks: -1 }]) {
    it(`refuse ${JSON.stringify(bad)}`, () => {
      const [option] = Object.keys(bad)
      assert.throws(() => new SimulationSource({ simulation, runId: 'run', sink, ...bad }), {
        name: 'SimulationOptionError',
        option,
      })
    })
  }
})
