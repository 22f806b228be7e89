import type { EnvironmentConfig } from '../../contracts/tick.ts'
import { EnvironmentProperties } from '../../environment/properties.ts'
import { SimulationOptionError } from './errors.ts'

export type SimulationOptions = {
  /** Any text. The same seed and options give the same ticks, byte for byte. */
  readonly seed: string
  /** Cells along each dimension. Default [100, 100]. */
  readonly shape?: readonly number[]
  /** Default 'torus'. */
  readonly topology?: EnvironmentConfig['topology']
  /** Founders, each of a lineage of its own. Default: one for every 250 cells, at least 4 where there is room. */
  readonly organisms?: number
  /** Energy in the whole world, per cell; it never changes. Default 16. */
  readonly energyPerCell?: number
  /** How readily food grows, 0 to 1. Default 0.8. */
  readonly growth?: number
  /** The chance that a gene of a newborn differs from its parent's, 0 to 1. Default 0.05. */
  readonly mutationRate?: number
  /** The age in ticks from which an organism may die of age. Default 500. */
  readonly lifespan?: number
  /** Ticks in which the fertile land moves by one cell; 0: it stays. Default 48. */
  readonly driftInterval?: number
  /** Milliseconds since 1970 at tick 0; every tick is one later. Default 0. */
  readonly startedAt?: number
}

export type SimulationSettings = Required<SimulationOptions>

/** 15 bytes a cell: a world of this size takes 250 MB. */
const MOST_CELLS = 2 ** 24
const CELLS_PER_FOUNDER = 250
const FEWEST_FOUNDERS = 4
const LATEST_DATE = 8.64e15

/** The options with their defaults, every one checked. */
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
    return undefined // The caller says it in terms of the option.
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
