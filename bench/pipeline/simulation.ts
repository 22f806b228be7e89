/**
 * node bench/pipeline/simulation.ts: how fast the reference simulation is, alone and with a snapshot of every tick.
 * Rates are per second of processor time: it runs on one core, and what else the machine does is not to count.
 */
import { createSimulation, type Simulation } from '../../packages/pipeline/src/sources/simulation/simulation.ts'
import { type Figure, figure } from '../figure.ts'
import { interleave, type Side } from '../interleave.ts'
import { formatTable } from '../report/table.ts'

const WORLDS = [
  { shape: [100, 100], ticks: 4_000 },
  { shape: [500, 500], ticks: 150 },
  { shape: [40, 40, 40], ticks: 500 },
] as const
/** Until then founders spread over empty land, and ticks cost less than later. */
const SETTLED_AT = 500
const RUN = 'bench'

export async function simulationFigures(rounds: number): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const { shape, ticks } of WORLDS) figures.push(...(await measure([...shape], ticks, rounds)))
  return figures
}

/** Every sample begins with the same tick, so that all of them do the same work. */
async function measure(shape: number[], ticks: number, rounds: number): Promise<Figure[]> {
  const simulation = createSimulation({ seed: 'bench', shape })
  for (let tick = 0; tick < SETTLED_AT; tick++) simulation.step()
  const state = simulation.saveState()
  const { medians, samples } = await interleave(rounds, {
    alone: rate(simulation, state, ticks, () => {}),
    watched: rate(simulation, state, ticks, () => simulation.snapshot(RUN)),
  })
  const name = shape.join(' × ')
  const occupied = simulation.snapshot(RUN).cells.flatIndex.length
  const note = `${occupied} cells occupied, ${simulation.alive} organisms at the end`
  const both = { engine: 'simulation', unit: '/s', note } as const
  return [
    figure({ case: `${name}: ticks`, ...both, ours: medians.alone, samples: { ours: samples.alone } }),
    figure({
      case: `${name}: ticks with a snapshot of each`,
      ...both,
      ours: medians.watched,
      samples: { ours: samples.watched },
    }),
  ]
}

function rate(simulation: Simulation, state: Uint8Array, ticks: number, afterEach: () => unknown): Side {
  return async () => {
    simulation.restoreState(state)
    const before = process.cpuUsage()
    for (let tick = 0; tick < ticks; tick++) {
      simulation.step()
      afterEach()
    }
    const { user, system } = process.cpuUsage(before)
    return (ticks * 1_000_000) / (user + system)
  }
}

if (import.meta.main) console.log(formatTable(await simulationFigures(5)))
