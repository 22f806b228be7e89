import { ConfigError } from 'tidemark'
import {
  type CheckedOptions,
  choice,
  duration,
  number,
  type OptionTable,
  rule,
  runId,
  text,
  whole,
} from '../../config/option-table.ts'
import { fraction, shape } from '../../config/resource-tables.ts'
import type { EncodedTick } from '../../contracts/tick-codec.ts'
import { isRunId } from '../../run-id.ts'
import { defineService } from '../service-type.ts'
import type { RunChoice } from '../simulation/choose-run.ts'
import { type EncodedMetadata, SimulationService } from '../simulation/simulation-service.ts'

type Resume = 'newest' | false | (string & {})

const SIMULATION_OPTIONS = {
  seed: text({ says: 'The same seed and settings give the same ticks.', default: 'tidemark' }),
  shape: shape({ says: 'Cells along each dimension.', default: [100, 100] }),
  topology: choice(['torus', 'bounded'], { says: 'Whether its edges meet.', default: 'torus' }),
  organisms: whole({ says: 'Founders, each of a lineage of its own.', min: 1, otherwise: 'one for every 250 cells' }),
  energyPerCell: whole({ says: 'Energy in the whole world, per cell.', min: 1, max: 1_000, default: 16 }),
  growth: fraction({ says: 'How readily food grows.', default: 0.8 }),
  mutationRate: fraction({ says: 'The chance that a gene of a newborn changes.', default: 0.05 }),
  lifespan: whole({ says: 'Ticks after which an organism may die of age.', min: 1, max: 1_000_000, default: 500 }),
  driftInterval: whole({
    says: 'Ticks in which the fertile land moves by one cell; 0: it stays.',
    min: 0,
    max: 1_000_000,
    default: 48,
  }),
  startedAt: whole({
    says: 'Milliseconds since 1970 at tick 0.',
    min: 0,
    max: 4.32e15,
    otherwise: 'the time at which the run begins',
  }),
} as const satisfies OptionTable

const RUN_OPTIONS = {
  samplingInterval: whole({ says: 'Every so many ticks one is handed on.', min: 1, default: 1 }),
  ticksPerSecond: number({ says: 'At most so many.', min: 0, otherwise: 'as fast as it goes' }),
  maxTicks: whole({ says: 'The tick after which the run is over.', min: 1, otherwise: 'it goes on until stopped' }),
  runId: runId({ says: 'Of a new run.', otherwise: 'one is made' }),
  resume: rule<Resume, { readonly says: string; readonly default: 'newest' }>(
    {
      says: 'Which run to go on with: the newest with the same settings, the one of that id, or none.',
      default: 'newest',
    },
    "`'newest'`, a run id, or `false`",
    (path, value) => {
      if (value === 'newest' || value === false || isRunId(value)) return value
      throw new ConfigError(path, value, "'newest', a run id, or false")
    },
  ),
  stateFolder: text({ says: 'Where runs keep what they need to go on.', default: './data/simulation' }),
  saveInterval: duration({ says: 'How often the state is saved.', default: '10s' }),
} as const satisfies OptionTable

const OPTIONS = { ...SIMULATION_OPTIONS, ...RUN_OPTIONS } as const

/** Which run these options mean. */
export function choiceOf(options: CheckedOptions<typeof OPTIONS>): RunChoice {
  const { settings, run } = partsOf(options)
  const { stateFolder: folder, samplingInterval, runId, resume } = run
  return { folder, simulation: settings, samplingInterval, runId, resume }
}

export const simulation = defineService({
  says: 'The reference simulation (docs/simulation.md).',
  options: OPTIONS,
  bindings: {
    ticks: { kind: 'queue-out', says: 'Gets the ticks.' },
    metadata: { kind: 'queue-out', says: "Gets the run's metadata, before the first tick.", optional: true },
    storage: { kind: 'storage-read', says: 'Tells which ticks are stored when a run goes on.', optional: true },
  },
  create({ name, options, resources, logger }) {
    const { settings, run } = partsOf(options)
    return new SimulationService(
      name,
      {
        ...run,
        simulation: settings,
        ticks: resources.outlet<EncodedTick>('ticks'),
        ...(resources.has('metadata') && { metadata: resources.outlet<EncodedMetadata>('metadata') }),
        ...(resources.has('storage') && { storage: resources.storage('storage') }),
      },
      logger,
    )
  },
})

/** What makes the world, and what makes the run. */
function partsOf(options: CheckedOptions<typeof OPTIONS>) {
  const { samplingInterval, ticksPerSecond, maxTicks, runId, resume, stateFolder, saveInterval, ...settings } = options
  const limits = {
    ...(ticksPerSecond !== undefined && { ticksPerSecond }),
    ...(maxTicks !== undefined && { maxTicks }),
  }
  return {
    settings,
    run: { samplingInterval, resume, stateFolder, saveInterval, ...limits, ...(runId !== undefined && { runId }) },
  }
}
