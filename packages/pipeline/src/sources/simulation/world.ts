import { EnvironmentProperties } from '../../environment/properties.ts'
import { fertileLand } from './fertility.ts'
import { EMPTY, NO_CLAN, NO_OWNER } from './molecules.ts'
import { Random } from './random.ts'
import type { SimulationSettings } from './settings.ts'

/**
 * The cells as columns, and the reserve: the energy that is in no cell. All energy is in one of the two, and every rule
 * only moves it, so `reserve + Σ value` is the same in every tick.
 */
export class World {
  readonly properties: EnvironmentProperties
  readonly size: number
  readonly directions: number
  readonly random: Random
  readonly totalEnergy: number
  reserve: number
  readonly molecule: Uint8Array
  readonly value: Int32Array
  /** The organism that left it there; NO_OWNER for what grew. */
  readonly owner: Int32Array
  /**
   * The owner's clan: distinguishes kin, prey and predator without looking up the owner. One byte, so that most reads
   * are cached.
   */
  readonly clan: Uint8Array
  /** Constant, and derived from the seed. */
  readonly fertility: Uint8Array
  /** Space for a list of cells, for use within one call. */
  readonly scratch: Int32Array
  readonly #strides: Int32Array
  readonly #lengths: Int32Array

  constructor(settings: SimulationSettings) {
    this.properties = new EnvironmentProperties(settings)
    this.size = this.properties.size
    this.directions = this.properties.directions
    const { strides, shape } = this.properties
    this.#strides = Int32Array.from([...strides, ...strides])
    this.#lengths = Int32Array.from([...shape, ...shape])
    this.random = new Random(`life ${settings.seed}`)
    this.totalEnergy = settings.energyPerCell * this.size
    this.reserve = this.totalEnergy
    this.molecule = new Uint8Array(this.size)
    this.value = new Int32Array(this.size)
    this.owner = new Int32Array(this.size)
    this.clan = new Uint8Array(this.size)
    this.scratch = new Int32Array(this.size)
    this.fertility = fertileLand(this.properties, new Random(`land ${settings.seed}`))
  }

  moleculeAt(cell: number): number {
    return this.molecule[cell] as number
  }

  valueAt(cell: number): number {
    return this.value[cell] as number
  }

  ownerAt(cell: number): number {
    return this.owner[cell] as number
  }

  clanAt(cell: number): number {
    return this.clan[cell] as number
  }

  /** By direction, so that a walker need not know axes. */
  strideOf(direction: number): number {
    return this.#strides[direction] as number
  }

  lengthOf(direction: number): number {
    return this.#lengths[direction] as number
  }

  /** Sets a cell. The caller accounts for the energy that was in it. */
  put(cell: number, molecule: number, value: number, owner: number, clan: number): void {
    this.molecule[cell] = molecule
    this.value[cell] = value
    this.owner[cell] = owner
    this.clan[cell] = clan
  }

  clear(cell: number): void {
    this.put(cell, EMPTY, 0, NO_OWNER, NO_CLAN)
  }

  /** Takes up to `amount` out of the reserve and returns how much it was. */
  draw(amount: number): number {
    const drawn = Math.min(amount, this.reserve)
    this.reserve -= drawn
    return drawn
  }
}
