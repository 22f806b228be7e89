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
import { defineServiceType } from '../service-type.ts'
import type { RunChoice } from '../simulation/choose-run.ts'
import { type EncodedMetadata, SimulationService } from '../simulation/simulation-service.ts'

type Resume = 'newest' | false | (string & {})

const SIMULATION_OPTIONS = {
  seed: text({ says: 'Random seed. The same seed and settings produce the same ticks.', default: 'tidemark' }),
  shape: shape({ says: 'Number of cells along each dimension.', default: [100, 100] }),
  topology: choice(['torus', 'bounded'], {
    says: '`torus`: opposite edges are connected. `bounded`: they are not.',
    default: 'torus',
  }),
  organisms: whole({
    says: 'Number of founders, each with its own lineage.',
    min: 1,
    otherwise: 'one per 250 cells',
  }),
  energyPerCell: whole({ says: 'Total energy of the world per cell.', min: 1, max: 1_000, default: 16 }),
  growth: fraction({ says: 'Growth rate of food, 0 to 1.', default: 0.8 }),
  mutationRate: fraction({ says: 'Probability that a gene of a newborn mutates, 0 to 1.', default: 0.05 }),
  lifespan: whole({ says: 'Age in ticks from which an organism may die.', min: 1, max: 1_000_000, default: 500 }),
  driftInterval: whole({
    says: 'Ticks in which fertile land drifts by one cell; 0 disables the drift.',
    min: 0,
    max: 1_000_000,
    default: 48,
  }),
  startedAt: whole({
    says: 'Unix time of tick 0 in milliseconds.',
    min: 0,
    max: 4.32e15,
    otherwise: 'start time of the run',
  }),
} as const satisfies OptionTable

const RUN_OPTIONS = {
  samplingInterval: whole({ says: 'Emit every Nth tick.', min: 1, default: 1 }),
  ticksPerSecond: number({ says: 'Maximum ticks per second.', min: 0, otherwise: 'unlimited' }),
  maxTicks: whole({ says: 'Last tick of the run.', min: 1, otherwise: 'runs until stopped' }),
  runId: runId({ says: 'Run id of a new run.', otherwise: 'generated' }),
  resume: rule<Resume, { readonly says: string; readonly default: 'newest' }>(
    {
      says: 'Run to continue: the newest with the same settings, the one with this id, or none.',
      default: 'newest',
    },
    "`'newest'`, a run id, or `false`",
    (path, value) => {
      if (value === 'newest' || value === false || isRunId(value)) return value
      throw new ConfigError(path, value, "'newest', a run id, or false")
    },
  ),
  stateFolder: text({
    says: 'Folder for the state from which runs continue.',
    default: './data/simulation',
    path: 'file',
  }),
  saveInterval: duration({ says: 'Interval between saves of the state.', default: '10s' }),
} as const satisfies OptionTable

const OPTIONS = { ...SIMULATION_OPTIONS, ...RUN_OPTIONS } as const

/** The run that these options select. */
export function choiceOf(options: CheckedOptions<typeof OPTIONS>): RunChoice {
  const { settings, run } = partsOf(options)
  const { stateFolder: folder, samplingInterval, runId, resume } = run
  return { folder, simulation: settings, samplingInterval, runId, resume }
}

export const simulation = defineServiceType({
  says: 'The reference simulation (docs/internals/simulation.md).',
  options: OPTIONS,
  bindings: {
    ticks: { kind: 'queue-out', says: 'Queue for the ticks.' },
    metadata: {
      kind: 'queue-out',
      says: "Queue for the run's metadata, filled before the first tick.",
      optional: true,
    },
    storage: {
      kind: 'storage-read',
      says: 'Storage that shows which ticks exist when a run continues.',
      optional: true,
    },
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

/** Separates the options of the world from those of the run. */
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
