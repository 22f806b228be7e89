import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
// Inside: the simulation step by step, without the service that paces and encodes it.
import { createSimulation } from '../../src/sources/simulation/simulation.ts'
import { RUN } from './worlds.ts'

/** More by hand: TIDEMARK_TEST_TICKS=100000 takes a minute. */
const TICKS = Number(process.env.TIDEMARK_TEST_TICKS || 20_000)
const CELLS = 2_500
const CHECKED_EVERY = 500

/** Measured with the seeds a to h: 216 to 1681 cells occupied, never fewer than 4 alive. */
const LEAST_OCCUPIED = CELLS / 20
const MOST_OCCUPIED = CELLS * 0.95

describe('life at default settings', () => {
  for (const seed of ['a', 'b', 'c']) {
    it(`neither ends nor fills the world in ${TICKS} ticks, from seed ${seed}`, () => {
      const simulation = createSimulation({ seed, shape: [50, 50] })
      let birthsBefore = 0
      for (let tick = 1; tick <= TICKS; tick++) {
        simulation.step()
        if (simulation.alive === 0) assert.fail(`nobody is alive at tick ${tick}`)
        if (tick % CHECKED_EVERY !== 0) continue
        const occupied = simulation.snapshot(RUN).cells.flatIndex.length
        assert.ok(occupied > LEAST_OCCUPIED && occupied < MOST_OCCUPIED, `${occupied} cells occupied at tick ${tick}`)
        if (tick % 10_000 !== 0) continue
        assert.ok(simulation.births > birthsBefore + 100, `hardly any birth in the 10 000 ticks before ${tick}`)
        birthsBefore = simulation.births
      }
    })
  }

  it('keeps several lineages going, and new ones begin', () => {
    const simulation = createSimulation({ seed: 'lineages' })
    const lineages = (): Set<number> => new Set(simulation.snapshot(RUN).organisms.map(organism => organism.lineage))
    for (let tick = 1; tick <= 10_000; tick++) {
      simulation.step()
      if (tick % 1_000 === 0) assert.ok(lineages().size >= 5, `${lineages().size} lineages at tick ${tick}`)
    }
    const founders = simulation.settings.organisms
    assert.ok(
      [...lineages()].every(lineage => lineage > founders),
      'no founder lineage is for ever',
    )
  })

  it('comes back from spores when everyone has died', () => {
    // No food grows: all starve again and again, whoever hatches.
    const simulation = createSimulation({ seed: 'famine', shape: [20, 20], organisms: 1, growth: 0, lifespan: 1 })
    const hatched = new Set<number>()
    let wasExtinct = false
    for (let tick = 0; tick < 5_000; tick++) {
      simulation.step()
      if (simulation.alive === 0) wasExtinct = true
      else if (wasExtinct) for (const { parentId } of simulation.snapshot(RUN).organisms) hatched.add(parentId ?? -1)
    }
    assert.ok(wasExtinct)
    assert.ok(hatched.size > 3)
    assert.ok(!hatched.has(-1), 'who hatches has a parent: the one that died')
  })
})
