import { decodeRawTick, encodeTick, environmentIndexer, type Tick } from '@tidemark/pipeline'
import { createSimulation } from '../../../packages/pipeline/src/sources/simulation/simulation.ts'
import { type Figure, figure } from '../../figure.ts'
import { worldTicks } from '../../pipeline/world.ts'
import type { IndexCase } from '../bench-case.ts'
import type { IndexEngine } from '../engines/engine.ts'
import { FlushedIndex } from '../flushed-index.ts'
import { StoredWorld } from '../world.ts'

const TICKS = 1_000
const MILLION = 1_000_000
/** "~1 GB for 10^6 ticks", with 1000 cells a tick of 1 to 2 kB each. */
const CLAIMED_MB = 1_000
/** Until then the simulation's founders spread over empty land. */
const SETTLED_AT = 500

export const size: IndexCase = {
  name: 'size',
  about: 'what a million ticks take on the disk, extrapolated, next to what the specification claims',
  async run({ engine, size: sized }) {
    const count = sized(TICKS)
    using world = await StoredWorld.of(0, 0)
    return [
      await measure(engine, world, worldTicks(world.runId, count), 'reference simulation, 5000 cells'),
      await measure(engine, world, simulatedTicks(world.runId, count), 'reference simulation at its own settings'),
    ]
  },
}

async function measure(engine: IndexEngine, world: StoredWorld, ticks: Tick[], what: string): Promise<Figure> {
  await world.freshIndex(engine)
  await using index = await FlushedIndex.open(world, engine, environmentIndexer())
  await index.flush(ticks.map(tick => decodeRawTick(encodeTick(tick).bytes)))
  const perTick = (await engine.environmentBytes(world.runId)) / ticks.length
  const cells = ticks.reduce((sum, tick) => sum + tick.cells.flatIndex.length, 0) / ticks.length
  const megabytes = (perTick * MILLION) / 1e6
  return figure({
    case: `1 000 000 ticks: ${what}`,
    engine: engine.name,
    unit: 'MB',
    ours: megabytes,
    raw: CLAIMED_MB,
    note:
      `${cells.toFixed(0)} cells and ${(perTick / 1e3).toFixed(1)} kB a tick with zstd 3 (${(perTick / cells).toFixed(2)} B a cell); ` +
      'raw: the claim, which is for 1000 cells a tick',
  })
}

function simulatedTicks(runId: string, count: number): Tick[] {
  const simulation = createSimulation({ seed: 'bench', shape: [100, 100] })
  for (let tick = 0; tick < SETTLED_AT; tick++) simulation.step()
  return Array.from({ length: count }, () => {
    simulation.step()
    return simulation.snapshot(runId)
  })
}
