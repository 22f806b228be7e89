import { defaultConfig, makeRunId } from '@tidemark/pipeline'
import { encodeTick } from '../../../packages/pipeline/src/contracts/tick-codec.ts'
import type { SimulationOptions } from '../../../packages/pipeline/src/sources/simulation/settings.ts'
import { createSimulation } from '../../../packages/pipeline/src/sources/simulation/simulation.ts'

/** Ticks a second of the simulation of `npm start` alone, with each tick encoded and thrown away. */
export function bareTicksPerSecond(shape: readonly number[] | undefined, seconds: number): number {
  const simulation = createSimulation({ ...ofDefaultWorld(), ...(shape && { shape }) })
  const runId = makeRunId()
  const started = performance.now()
  let ticks = 0
  for (; performance.now() - started < seconds * 1_000; ticks++) {
    simulation.step()
    encodeTick(simulation.snapshot(runId))
  }
  return (ticks * 1_000) / (performance.now() - started)
}

function ofDefaultWorld(): SimulationOptions {
  const options = defaultConfig().services.simulation?.options as Record<string, unknown>
  const { ticksPerSecond, stateFolder, resume, ...world } = options
  return world as SimulationOptions
}
