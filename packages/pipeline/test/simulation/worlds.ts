import { createHash } from 'node:crypto'
import fc from 'fast-check'
import type { Tick } from '../../src/index.ts'
// Inside: the simulation step by step, without the service that paces and encodes it.
import type { Simulation } from '../../src/sources/simulation/simulation.ts'

export const RUN = '20250101-00000000-test'

const anyWorlds = fc.record({
  seed: fc.string({ minLength: 1, maxLength: 8 }),
  shape: fc.oneof(
    fc.tuple(fc.integer({ min: 1, max: 60 })),
    fc.tuple(fc.integer({ min: 1, max: 16 }), fc.integer({ min: 1, max: 16 })),
    fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 3, maxLength: 4 }),
  ),
  topology: fc.constantFrom('torus', 'bounded'),
  energyPerCell: fc.integer({ min: 1, max: 60 }),
  growth: fc.double({ min: 0, max: 1, noNaN: true }),
  mutationRate: fc.double({ min: 0, max: 1, noNaN: true }),
  lifespan: fc.integer({ min: 1, max: 200 }),
  driftInterval: fc.integer({ min: 0, max: 20 }),
})

/** Small worlds of every kind: 1 to 4 dimensions, crowded and empty, fast and slow to change. */
export const smallWorlds = fc.tuple(anyWorlds, fc.nat()).map(([world, crowd]) => {
  const cells = world.shape.reduce((product, length) => product * length, 1)
  return { ...world, organisms: 1 + (crowd % cells) }
})

export function stepMany(simulation: Simulation, ticks: number): Simulation {
  for (let tick = 0; tick < ticks; tick++) simulation.step()
  return simulation
}

/** Every byte of a tick that a reader could see. */
export function fingerprint(tick: Tick): string {
  const hash = createHash('sha256')
  for (const column of Object.values(tick.cells)) hash.update(column)
  for (const { genome, ...rest } of tick.organisms) hash.update(JSON.stringify(rest)).update(genome)
  return hash.update(JSON.stringify([tick.runId, tick.tick, tick.capturedAt])).digest('hex')
}
