import type { SimulationMetadata, Tick } from '../../contracts/tick.ts'
import { Land } from './land.ts'
import { Life } from './life.ts'
import { MOLECULE_TYPES } from './molecules.ts'
import { Population } from './population.ts'
import { type SimulationOptions, type SimulationSettings, toSettings } from './settings.ts'
import { takeSnapshot } from './snapshot.ts'
import { SporeBank } from './spore-bank.ts'
import { readSettings, readState, writeState } from './state.ts'
import { World } from './world.ts'

/**
 * The reference simulation: a closed world of energy and the organisms that live in it
 * (`docs/internals/simulation.md`). It uses integers and its own random number generator, so the same options give the
 * same ticks everywhere.
 */
export function createSimulation(options: SimulationOptions): Simulation {
  return new Simulation(toSettings(options))
}

/** Creates the simulation that `saveState()` was called on. */
export function resumeSimulation(state: Uint8Array): Simulation {
  const simulation = new Simulation(toSettings(readSettings(state)))
  simulation.restoreState(state)
  return simulation
}

export class Simulation {
  readonly settings: SimulationSettings
  readonly #world: World
  readonly #population = new Population()
  readonly #spores = new SporeBank()
  readonly #land: Land
  readonly #life: Life
  #tick = 0

  constructor(settings: SimulationSettings) {
    this.settings = settings
    this.#world = new World(settings)
    this.#land = new Land(this.#world, settings)
    this.#life = new Life(this.#world, this.#population, this.#spores, settings)
    this.#life.found(settings.organisms)
    this.#land.sow()
  }

  get tick(): number {
    return this.#tick
  }

  get alive(): number {
    return this.#life.totals.alive
  }

  /** Since tick 0, without the founders. */
  get births(): number {
    return this.#life.totals.births
  }

  get deaths(): number {
    return this.#life.totals.deaths
  }

  step(): void {
    this.#tick++
    this.#life.live(this.#tick)
    this.#land.tend(this.#tick)
  }

  /**
   * Current tick: occupied cells, living organisms, and those that died in it. `capturedAt` follows the world's own
   * clock.
   */
  snapshot(runId: string): Tick {
    const capturedAt = this.settings.startedAt + this.#tick
    return takeSnapshot(this.#world, this.#population, { runId, tick: this.#tick, capturedAt })
  }

  metadata(runId: string, samplingInterval: number): SimulationMetadata {
    const { seed, shape, topology, startedAt } = this.settings
    return {
      runId,
      startedAt,
      seed,
      samplingInterval,
      environment: { shape, topology },
      settings: JSON.stringify(this.settings),
      moleculeTypes: MOLECULE_TYPES,
    }
  }

  /** Energy by place; the sum is the same in every tick. */
  energy(): { readonly reserve: number; readonly cells: number } {
    return { reserve: this.#world.reserve, cells: this.#world.value.reduce((sum, value) => sum + value, 0) }
  }

  /** Everything that the future depends on, for `restoreState` of a simulation with the same options. */
  saveState(): Uint8Array {
    return writeState(this.#parts())
  }

  /** Continues exactly where the saved simulation was. Unusable bytes change nothing. */
  restoreState(state: Uint8Array): void {
    this.#tick = readState(this.#parts(), state)
  }

  #parts() {
    return {
      settings: this.settings,
      tick: this.#tick,
      world: this.#world,
      population: this.#population,
      spores: this.#spores,
      totals: this.#life.totals,
    }
  }
}
