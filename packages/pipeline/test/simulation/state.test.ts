import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { crc32 } from 'node:zlib'
import fc from 'fast-check'
// Inside: the simulation step by step, without the service that paces and encodes it.
import { createSimulation, resumeSimulation } from '../../src/sources/simulation/simulation.ts'
import { fingerprint, RUN, smallWorlds, stepMany } from './worlds.ts'

const ticks = fc.integer({ min: 0, max: 150 })

describe('a saved state', () => {
  it('restores the same present and future, whatever the world and the tick', () => {
    fc.assert(
      fc.property(smallWorlds, ticks, ticks, (options, before, after) => {
        const original = stepMany(createSimulation(options), before)
        const state = original.saveState()
        const resumed = resumeSimulation(state)
        const restored = stepMany(createSimulation(options), after) // Somewhere else before it is restored.
        restored.restoreState(state)
        for (const simulation of [resumed, restored]) {
          assert.equal(fingerprint(simulation.snapshot(RUN)), fingerprint(original.snapshot(RUN)))
        }
        stepMany(original, after)
        for (const simulation of [resumed, restored]) {
          stepMany(simulation, after)
          assert.equal(fingerprint(simulation.snapshot(RUN)), fingerprint(original.snapshot(RUN)))
          assert.deepEqual(Buffer.compare(simulation.saveState(), original.saveState()), 0)
          const totals = [simulation.tick, simulation.alive, simulation.births, simulation.deaths]
          assert.deepEqual(totals, [original.tick, original.alive, original.births, original.deaths])
        }
      }),
    )
  })

  it('holds a crowd larger than a new simulation has room for', () => {
    const original = stepMany(createSimulation({ seed: 'crowd', shape: [150, 150] }), 300)
    assert.ok(original.alive > 256, 'more than the first capacity of the columns')
    const resumed = resumeSimulation(original.saveState())
    assert.equal(fingerprint(stepMany(resumed, 50).snapshot(RUN)), fingerprint(stepMany(original, 50).snapshot(RUN)))
  })

  it('holds the spores of those that died, with all that hatches from them', () => {
    const options = { seed: 'spores', shape: [20, 20], organisms: 40, growth: 0, lifespan: 1, mutationRate: 0.1 }
    const original = stepMany(createSimulation(options), 500)
    const resumed = resumeSimulation(original.saveState())
    const births = original.births
    for (let tick = 0; tick < 2_000; tick++) {
      original.step()
      resumed.step()
      assert.equal(fingerprint(resumed.snapshot(RUN)), fingerprint(original.snapshot(RUN)))
    }
    assert.ok(original.births > births + 20)
  })

  it('does not change when the simulation continues', () => {
    const simulation = stepMany(createSimulation({ seed: 'kept' }), 50)
    const state = simulation.saveState()
    const copy = Uint8Array.from(state)
    stepMany(simulation, 50)
    assert.deepEqual(state, copy)
  })
})

describe('unusable state bytes', () => {
  const simulation = stepMany(createSimulation({ seed: 'damage', shape: [12, 12] }), 40)
  const state = simulation.saveState()
  const before = fingerprint(simulation.snapshot(RUN))
  const refuses = (bytes: Uint8Array, message: RegExp): void => {
    assert.throws(() => simulation.restoreState(bytes), { name: 'SimulationStateError', message })
    assert.equal(fingerprint(simulation.snapshot(RUN)), before, 'nothing was changed')
  }

  it('are refused wherever one of them is altered', () => {
    for (let at = 0; at < state.length; at++) {
      const altered = Uint8Array.from(state)
      altered[at] = (altered[at] ?? 0) ^ 0x10
      refuses(altered, at < 8 ? /not a saved state/ : /checksum/)
    }
  })

  it('are refused wherever they are cut', () => {
    for (let length = 0; length < state.length; length += 7) refuses(state.subarray(0, length), /short|checksum/)
  })

  it('are refused when the checksum is right and the length is not', () => {
    const body = Buffer.concat([state.subarray(0, -4), new Uint8Array(8)])
    const checksum = Buffer.alloc(4)
    checksum.writeUInt32LE(crc32(body))
    refuses(Buffer.concat([body, checksum]), /unexpected length/)
  })

  it('are refused when they are of a simulation with other options', () => {
    refuses(createSimulation({ seed: 'other', shape: [12, 12] }).saveState(), /"seed":"other".*resumeSimulation/)
  })
})
