/** The default pipeline on a small and fast world, in this process or in one of its own. */
import { join } from 'node:path'
import { type Script, spawnScript } from '../../../../testing/processes.ts'
import { type IndexDatabase, openIndex } from '../../src/index.ts'
// Inside: the simulation step by step, without the service that paces and encodes it.
import { createSimulation, type Simulation } from '../../src/sources/simulation/simulation.ts'

/** The default configuration has options of its own for each of these. */
const SETTINGS = {
  seed: 'whole',
  shape: [16, 16],
  startedAt: 1_760_000_000_000,
  organisms: 4,
  energyPerCell: 16,
  growth: 0.8,
  mutationRate: 0.05,
}
const SIMULATION = 'TIDEMARK_PIPELINE__SERVICES__SIMULATION__'
const INDEXERS = ['DUMMY', 'ENVIRONMENT', 'ORGANISM', 'SERIES'].map(
  name => `TIDEMARK_PIPELINE__SERVICES__${name}_INDEXER__`,
)
const PERSISTENCE = 'TIDEMARK_PIPELINE__SERVICES__PERSISTENCE__'
/** `npm start` is the command's `start`; here the pipeline alone. */
export const MAIN = new URL('../../../cli/src/main.ts', import.meta.url)

export const RUN_ID = '20260101-00000000-00000000-0000-4000-8000-000000000007'

export { SILENT } from '../services/loggers.ts'

export type Settings = { readonly [variable: string]: string }

/** Over the default configuration: small batches, short waits. */
export const SMALL_AND_FAST: Settings = {
  [`${SIMULATION}SEED`]: SETTINGS.seed,
  [`${SIMULATION}SHAPE`]: JSON.stringify(SETTINGS.shape),
  [`${SIMULATION}STARTED_AT`]: String(SETTINGS.startedAt),
  [`${SIMULATION}ORGANISMS`]: String(SETTINGS.organisms),
  [`${SIMULATION}ENERGY_PER_CELL`]: String(SETTINGS.energyPerCell),
  [`${SIMULATION}GROWTH`]: String(SETTINGS.growth),
  [`${SIMULATION}MUTATION_RATE`]: String(SETTINGS.mutationRate),
  [`${SIMULATION}TICKS_PER_SECOND`]: '10000',
  [`${SIMULATION}SAVE_INTERVAL`]: '100ms',
  [`${PERSISTENCE}MAX_BATCH_SIZE`]: '20',
  [`${PERSISTENCE}BATCH_TIMEOUT`]: '100ms',
  ...Object.fromEntries(INDEXERS.map(indexer => [`${indexer}FLUSH_TIMEOUT`, '100ms'])),
  ...Object.fromEntries(INDEXERS.map(indexer => [`${indexer}LEASE`, '1s'])),
  TIDEMARK_PIPELINE__SERVICES__METADATA_INDEXER__LEASE: '1s',
  TIDEMARK_PIPELINE__SERVICES__RECONCILER__INTERVAL: '300ms',
}

/** For a run without an end: at full speed it takes every processor until it is stopped. */
export const SMALL_AND_STEADY: Settings = { ...SMALL_AND_FAST, [`${SIMULATION}TICKS_PER_SECOND`]: '200' }

export const simulationOption = (option: string, value: string | number): Settings => ({
  [`${SIMULATION}${option}`]: String(value),
})

export function startProcess(
  folder: string,
  args: readonly string[],
  more: Settings = {},
  nodeFlags: readonly string[] = [],
): Script {
  return spawnScript(MAIN, ['start', '--no-server', '--data', folder, ...args], {
    env: { ...SMALL_AND_FAST, ...more },
    nodeFlags,
  })
}

export const simulationOfRun = (): Simulation => createSimulation(SETTINGS)

/** What the simulation itself says of the ticks from 0 to the last. */
export function expectedRows(lastTick: number): { tick: number; cells: number; organisms: number }[] {
  const simulation = simulationOfRun()
  const rows = []
  for (let tick = 0; tick <= lastTick; tick++) {
    if (tick > 0) simulation.step()
    const { cells, organisms } = simulation.snapshot(RUN_ID)
    rows.push({ tick, cells: cells.flatIndex.length, organisms: organisms.length })
  }
  return rows
}

export async function openRun(folder: string, runId = RUN_ID): Promise<IndexDatabase> {
  return await openIndex(`sqlite:${join(folder, 'index')}`, runId, { create: false })
}

export async function tickRows(index: IndexDatabase): Promise<{ tick: number; cells: number; organisms: number }[]> {
  const schema = index.engine === 'postgres' ? 'run.' : ''
  const rows = await index.read<{ tick: number; cells: number; organisms: number }>(
    `select tick, cells, organisms from ${schema}dummy_tick order by tick`,
  )
  return rows.map(row => ({ ...row }))
}

/** Where a batch ends and the next begins depends on the clock; that nothing is left out or twice does not. */
export async function batchesCover(index: IndexDatabase): Promise<{ from: number; to: number; isWhole: boolean }> {
  const batches = await index.read<{ tick_start: number; tick_end: number }>(
    'select tick_start, tick_end from dummy_batch order by tick_start',
  )
  const isWhole = batches.every(({ tick_start }, at) => at === 0 || tick_start === (batches[at - 1]?.tick_end ?? 0) + 1)
  return { from: batches[0]?.tick_start ?? -1, to: batches.at(-1)?.tick_end ?? -1, isWhole }
}
