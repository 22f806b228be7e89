import type { Tick } from '@tidemark/pipeline'
import { createSimulation } from '../../packages/pipeline/src/sources/simulation/simulation.ts'

/** With this growth about 5000 of the 10 000 cells are occupied, and there are 130 organisms. */
const SETTINGS = { seed: 'bench', shape: [100, 100], growth: 0.4 }
/** Until then founders spread over empty land. */
const SETTLED_AT = 500
/** Then the same ticks come again under other numbers: 6 MB apart, which is further back than zstd 3 looks (2 MB). */
const DISTINCT = 200

let simulated: readonly Tick[] | undefined

/** Ticks of the reference simulation, on 100 × 100. The same for every run. */
export function worldTicks(runId: string, count: number): Tick[] {
  simulated ??= simulate()
  const ticks = simulated
  return Array.from({ length: count }, (_, tick) => ({ ...(ticks[tick % DISTINCT] as Tick), runId, tick }))
}

function simulate(): Tick[] {
  const simulation = createSimulation(SETTINGS)
  for (let tick = 0; tick < SETTLED_AT; tick++) simulation.step()
  return Array.from({ length: DISTINCT }, () => {
    simulation.step()
    return simulation.snapshot('')
  })
}
