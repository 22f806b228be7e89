import type { EnvironmentConfig } from '../../contracts/tick.ts'
import { EnvironmentProperties } from '../../environment/properties.ts'
import { SimulationOptionError } from './errors.ts'

/** Options of the reference simulation. */
export type SimulationOptions = {
  /** Seed. The same seed and options produce the same ticks, byte for byte. */
  readonly seed: string
  /** Cells along each dimension (default [100, 100]). */
  readonly shape?: readonly number[]
  /** Topology (default 'torus'). */
  readonly topology?: EnvironmentConfig['topology']
  /** Number of founders, each with its own lineage (default: one per 250 cells, at least 4 if there is space). */
  readonly organisms?: number
  /** Total energy of the world per cell; it never changes (default 16). */
  readonly energyPerCell?: number
  /** Growth rate of food, 0 to 1 (default 0.8). */
  readonly growth?: number
  /** Probability that a gene of a newborn mutates, 0 to 1 (default 0.05). */
  readonly mutationRate?: number
  /** Age in ticks from which an organism may die (default 500). */
  readonly lifespan?: number
  /** Ticks in which fertile land drifts by one cell; 0 disables the drift (default 48). */
  readonly driftInterval?: number
  /** Milliseconds since 1970 of tick 0; each tick is one millisecond later (default 0). */
  readonly startedAt?: number
}

export type SimulationSettings = Required<SimulationOptions>

/** 15 bytes per cell: a world of this size takes 250 MB. */
const MOST_CELLS = 2 ** 24
const CELLS_PER_FOUNDER = 250
const FEWEST_FOUNDERS = 4
const LATEST_DATE = 8.64e15

/** Checks the options and fills in defaults. */
export function toSettings(options: SimulationOptions): SimulationSettings {
  if (typeof options !== 'object' || options === null) {
    throw new SimulationOptionError('simulation', options, 'an object of options')
  }
  const given: { readonly [name: string]: unknown } = options
  const { shape, topology, cells } = environmentOf(options)
  const founders = Math.min(cells, Math.max(FEWEST_FOUNDERS, Math.floor(cells / CELLS_PER_FOUNDER)))
  const settings: SimulationSettings = {
    seed: seedOf(options.seed),
    shape,
    topology,
    organisms: integer(given, 'organisms', founders, 1, cells),
    energyPerCell: integer(given, 'energyPerCell', 16, 1, 1_000),
    growth: fraction(given, 'growth', 0.8),
    mutationRate: fraction(given, 'mutationRate', 0.05),
    lifespan: integer(given, 'lifespan', 500, 1, 1_000_000),
    driftInterval: integer(given, 'driftInterval', 48, 0, 1_000_000),
    startedAt: integer(given, 'startedAt', 0, 0, LATEST_DATE / 2),
  }
  for (const name of Object.keys(options)) {
    if (!(name in settings)) {
      throw new SimulationOptionError(name, given[name], `one of ${Object.keys(settings).join(', ')}`)
    }
  }
  return settings
}

function seedOf(seed: unknown): string {
  if (typeof seed === 'string' && seed.length >= 1 && seed.length <= 256) return seed
  throw new SimulationOptionError('seed', seed, 'a text of 1 to 256 characters')
}

function environmentOf(options: SimulationOptions): Required<EnvironmentConfig> & { readonly cells: number } {
  const { topology = 'torus', shape = [100, 100] } = options
  if (topology !== 'torus' && topology !== 'bounded') {
    throw new SimulationOptionError('topology', topology, "'torus' or 'bounded'")
  }
  const cells = sizeOf(shape)
  if (cells === undefined || cells > MOST_CELLS) {
    const allowed = `1 to 16 whole numbers from 1 on, such as [100, 100], with a product of at most ${MOST_CELLS}`
    throw new SimulationOptionError('shape', shape, allowed)
  }
  return { shape: [...shape], topology, cells }
}

/** Undefined: not a shape. */
function sizeOf(shape: readonly number[]): number | undefined {
  try {
    return new EnvironmentProperties({ shape, topology: 'torus' }).size
  } catch {
    return undefined // The caller reports it in terms of the option.
  }
}

type Given = { readonly [name: string]: unknown }

function integer(given: Given, name: string, fallback: number, min: number, max: number): number {
  const value = given[name]
  if (value === undefined) return fallback
  if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value
  throw new SimulationOptionError(name, value, `a whole number from ${min} to ${max}`)
}

function fraction(given: Given, name: string, fallback: number): number {
  const value = given[name]
  if (value === undefined) return fallback
  if (typeof value === 'number' && value >= 0 && value <= 1) return value
  throw new SimulationOptionError(name, value, 'a number from 0 to 1')
}
