import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
// Inside: the simulation step by step, without the service that paces and encodes it.
import { createSimulation } from '../../src/sources/simulation/simulation.ts'
import { fingerprint, RUN, smallWorlds, stepMany } from './worlds.ts'

describe('the same seed and options', () => {
  it('give the same ticks, looked at or not', () => {
    fc.assert(
      fc.property(smallWorlds, fc.integer({ min: 1, max: 150 }), (options, ticks) => {
        const watched = createSimulation(options)
        for (let tick = 0; tick < ticks; tick++) {
          watched.step()
          watched.snapshot(RUN)
          watched.saveState()
        }
        const alone = stepMany(createSimulation(options), ticks)
        assert.equal(fingerprint(alone.snapshot(RUN)), fingerprint(watched.snapshot(RUN)))
      }),
    )
  })

  it('do not disturb each other when they run in turns', () => {
    const [one, other] = [createSimulation({ seed: 'one' }), createSimulation({ seed: 'other' })]
    for (let tick = 0; tick < 200; tick++) {
      one.step()
      other.step()
    }
    const alone = stepMany(createSimulation({ seed: 'one' }), 200)
    assert.equal(fingerprint(one.snapshot(RUN)), fingerprint(alone.snapshot(RUN)))
  })

  /** Of a change of the rules that is meant, these are to be written anew; of anything else they are the alarm. */
  const KNOWN = {
    torus: '095811cdac8b66b0e82d8dfe92b403e0592948103b78578824893ed83cb123e2',
    bounded: '8f8e7e867528c05e526fff1bdeeab8aa7daaa78bcf8bb63eeadd93ab759732d2',
  } as const

  it('give these very ticks, on every machine', () => {
    const torus = stepMany(createSimulation({ seed: 'tidemark' }), 2_000)
    assert.equal(fingerprint(torus.snapshot(RUN)), KNOWN.torus)
    const options = { seed: 'tidemark', shape: [9, 8, 7], topology: 'bounded', startedAt: 1_700_000_000_000 } as const
    assert.equal(fingerprint(stepMany(createSimulation(options), 2_000).snapshot(RUN)), KNOWN.bounded)
  })
})

describe('another seed', () => {
  it('produces another world', () => {
    const seeds = ['a', 'b', 'aa', 'A', '1', '2', 'ä', '€']
    const ticks = seeds.map(seed => fingerprint(createSimulation({ seed }).snapshot(RUN)))
    assert.equal(new Set(ticks).size, seeds.length)
  })
})
