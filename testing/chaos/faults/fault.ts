import type { SeededRandom } from '../../seeded-random.ts'
import type { Fleet } from '../fleet.ts'
import type { Journal } from '../journal.ts'
import type { PathWatch } from '../path-counts.ts'
import type { Place } from '../place.ts'
import type { RarePath } from '../rare-paths.ts'
import type { Engine } from '../world.ts'

export type Scene = {
  readonly place: Place
  readonly fleet: Fleet
  readonly journal: Journal
  readonly paths: PathWatch
}

export type Fault = {
  readonly name: string
  /** One line for --help. */
  readonly about: string
  readonly engines: readonly Engine[]
  /** Faults of one lane follow one another; the two lanes overlap. */
  readonly lane: 'processes' | 'database'
  /** Paths that certainly run when this fault does. */
  readonly reaches: readonly RarePath[]
  /** Why this machine can't have it; undefined if it can. */
  missing?(scene: Scene): string | undefined
  /** Breaks something, waits, and heals it. Every choice comes from `random`. */
  inject(scene: Scene, random: SeededRandom): Promise<void>
}

export const EVERY: readonly Engine[] = ['sqlite', 'postgres', 'jetstream']
