import { EMPTY, ENERGY, NO_CLAN, NO_OWNER, STRUCTURE, TOXIN } from './molecules.ts'
import type { SimulationSettings } from './settings.ts'
import type { World } from './world.ts'

/** Each tick updates every eighth cell: organisms move faster than grass, and the pass costs an eighth. */
const PHASES = 8
/** Land less fertile than this, a sixth of any world, bears nothing. */
const BARREN = 44
const SPROUT = 2
const GROWTH_STEP = 6
const SPREADS_FROM = 7
/** Out of 65 536 visits to ripe food, the number that spread to a neighbour. */
const SPREAD_CHANCE = 24_000
/** Out of 2^24 visits to an empty fertile cell, the number that create a sprout. */
const SPROUT_CHANCE = 100_000
/** Out of 65 536 cells, the number with food at the start. */
const SOWN_CHANCE = 20_000

/** What happens without organisms: food grows from the reserve and spreads; trails and poison decay back into it. */
export class Land {
  readonly #world: World
  readonly #growth: number
  readonly #driftInterval: number

  constructor(world: World, { growth, driftInterval }: SimulationSettings) {
    this.#world = world
    this.#growth = growth
    this.#driftInterval = driftInterval
  }

  tend(tick: number): void {
    const world = this.#world
    const { size, molecule } = world
    // The emptier the reserve, the slower the growth: that alone keeps food from filling the world.
    const growthChance = Math.floor((world.reserve / world.totalEnergy) * this.#growth * 65_536)
    const shift = this.#driftInterval === 0 ? 0 : Math.floor(tick / this.#driftInterval) % size
    for (let cell = tick % PHASES; cell < size; cell += PHASES) {
      const what = molecule[cell] as number
      const place = cell + shift
      const fertility = world.fertility[place < size ? place : place - size] as number
      if (what === ENERGY) this.#grow(cell, fertility, growthChance)
      else if (what === EMPTY) this.#sprout(cell, fertility)
      else if (what === STRUCTURE) this.#rot(cell, fertility)
      else if (what === TOXIN) this.#crumble(cell)
    }
  }

  /** Food at the start, on about a third of the land: half of what it can bear, until a third of the energy is used. */
  sow(): void {
    const world = this.#world
    for (let cell = 0; cell < world.size && world.reserve * 3 > world.totalEnergy * 2; cell++) {
      const most = ripeness(world.fertility[cell] as number) >> 1
      if (most > SPROUT && world.moleculeAt(cell) === EMPTY && world.random.happens(SOWN_CHANCE)) {
        world.put(cell, ENERGY, world.draw(most), NO_OWNER, NO_CLAN)
      }
    }
  }

  /** A trail ends as a sprout if the land is fertile: what was grazed grows again along it. */
  #rot(cell: number, fertility: number): void {
    const world = this.#world
    if (world.valueAt(cell) > 1 || fertility < BARREN) this.#crumble(cell)
    else world.put(cell, ENERGY, 1, NO_OWNER, NO_CLAN)
  }

  #crumble(cell: number): void {
    const world = this.#world
    world.reserve++
    if (world.valueAt(cell) > 1) world.value[cell] = world.valueAt(cell) - 1
    else world.clear(cell)
  }

  #sprout(cell: number, fertility: number): void {
    const world = this.#world
    if (world.random.next() >>> 8 >= SPROUT_CHANCE || fertility < BARREN || world.reserve < SPROUT) return
    world.put(cell, ENERGY, world.draw(SPROUT), NO_OWNER, NO_CLAN)
  }

  #grow(cell: number, fertility: number, chance: number): void {
    const world = this.#world
    const bits = world.random.next()
    const value = world.valueAt(cell)
    const ripe = ripeness(fertility)
    if (value > ripe) this.#crumble(cell)
    else if ((bits & 0xffff) < chance) world.value[cell] = value + world.draw(Math.min(GROWTH_STEP, ripe - value))
    if (value >= SPREADS_FROM && bits >>> 16 < SPREAD_CHANCE) this.#spread(cell)
  }

  #spread(cell: number): void {
    const world = this.#world
    const target = world.properties.step(cell, (world.random.next() >>> 8) % world.directions)
    if (target < 0 || world.moleculeAt(target) !== EMPTY) return
    const given = world.valueAt(cell) >> 1
    if (given === 0) return
    world.value[cell] = world.valueAt(cell) - given
    world.put(target, ENERGY, given, NO_OWNER, NO_CLAN)
  }
}

/** The maximum food of a cell. */
const ripeness = (fertility: number): number => (fertility < BARREN ? 0 : 8 + ((fertility - BARREN) >> 2))
