import { chooseDirection, look, SEES_KIN, SEES_PREDATOR, SEES_PREY, SEES_WALL, STAY } from './behaviour.ts'
import { clanOf } from './clan.ts'
import { SimulationError } from './errors.ts'
import { DIVIDE_AT, GENOME_BYTES, TRAIL, VENOM, writeChild, writeFounder } from './genome.ts'
import { CORE, ENERGY, NO_CLAN, NO_OWNER, STRUCTURE, TOXIN } from './molecules.ts'
import { NO_PARENT, type Population } from './population.ts'
import type { SimulationSettings } from './settings.ts'
import type { SporeBank } from './spore-bank.ts'
import type { World } from './world.ts'

const LARGEST_ID = 2 ** 31 - 1
const FOUNDER_ENERGY = 80
/** Cost of living per tick; moving costs as much again. */
const UPKEEP = 1
const MOVE_COST = 1
/** More than this can't be held; it flows back into the reserve. */
const MOST_ENERGY = 2_000
/** What a bite takes; a quarter of it is lost to the reserve. */
const BITE = 24
/**
 * Plus the gene. At 40, which selection reached at once, there were five births per tick and a third of the cells were
 * occupied.
 */
const LEAST_TO_DIVIDE = 120
/** Poison takes this multiple of its value from a stranger who steps on it. */
const TOXIN_BURNS = 4
const TOXIN_VALUE = 5
/**
 * Plus up to 3 by gene. Trails cost energy, so selection shortens them; at 3, a lineage's territory was hardly visible.
 */
const LEAST_TRAIL = 7
/** Beyond its lifespan, an organism dies with a chance of one in this many per tick. */
const OLD_AGE_ODDS = 64
/**
 * A newborn with this many mutations from its lineage's founder starts its own lineage. At 12, four to six lineages
 * shared the world.
 */
const NEW_LINEAGE_AT = 7
/** Spores hatch while fewer than one organism per this many cells is alive. */
const CELLS_PER_SURVIVOR = 400
/** Out of 65 536, per tick. */
const HATCH_CHANCE = 4_000

export type LifeTotals = { births: number; deaths: number; lastId: number; alive: number }

/** What organisms do in a tick: age, move, eat, bite, divide, die. */
export class Life {
  readonly #world: World
  readonly #population: Population
  readonly #spores: SporeBank
  readonly #mutationRate: number
  readonly #lifespan: number
  readonly totals: LifeTotals = { births: 0, deaths: 0, lastId: 0, alive: 0 }

  constructor(world: World, population: Population, spores: SporeBank, settings: SimulationSettings) {
    this.#world = world
    this.#population = population
    this.#spores = spores
    this.#mutationRate = Math.floor(settings.mutationRate * 65_536)
    this.#lifespan = settings.lifespan
  }

  /** Places the founders on random cells, each different from the others. */
  found(count: number): void {
    const world = this.#world
    const energy = Math.min(FOUNDER_ENERGY, Math.floor(world.totalEnergy / count)) // At least 1: there is as much per cell.
    for (let founder = 0; founder < count; founder++) {
      let cell = world.random.below(world.size)
      while (world.moleculeAt(cell) === CORE) cell = (cell + 1) % world.size
      const slot = this.#settle(cell, world.draw(energy), NO_PARENT, 0)
      this.#setLineage(slot, this.#population.id[slot] as number)
      writeFounder(this.#population.genome, slot * GENOME_BYTES, world.random)
    }
  }

  live(tick: number): void {
    const population = this.#population
    population.bury()
    const count = population.count // Newborns act from the next tick on.
    for (let slot = 0; slot < count; slot++) {
      if (population.dead[slot] === 0) this.#act(slot, tick)
    }
    if (this.totals.alive * CELLS_PER_SURVIVOR < this.#world.size) this.#hatch(tick)
  }

  #act(slot: number, tick: number): void {
    const world = this.#world
    const population = this.#population
    const age = tick - (population.birthTick[slot] as number)
    if (age >= this.#lifespan && world.random.below(OLD_AGE_ODDS) === 0) {
      this.#dieOfAge(slot)
      return
    }
    const direction = chooseDirection(world, population, slot)
    if (direction !== STAY) this.#go(slot, direction)
    const cell = population.cell[slot] as number
    this.#pay(cell, UPKEEP)
    if (world.valueAt(cell) <= 0) this.#starve(slot)
    else if (world.valueAt(cell) >= LEAST_TO_DIVIDE + this.#gene(slot, DIVIDE_AT)) this.#divide(slot, tick)
  }

  #go(slot: number, direction: number): void {
    const world = this.#world
    const population = this.#population
    const target = world.properties.step(population.cell[slot] as number, direction)
    population.direction[slot] = direction
    const seen = look(world, target, population.clan[slot] as number)
    if (seen === SEES_PREY) this.#bite(slot, target)
    else if (seen !== SEES_WALL && seen !== SEES_KIN && seen !== SEES_PREDATOR) this.#move(slot, target)
  }

  /** Into any cell that can be entered, taking what is there and leaving a trail behind. */
  #move(slot: number, target: number): void {
    const world = this.#world
    const population = this.#population
    const from = population.cell[slot] as number
    const found = world.valueAt(target)
    const isToxic = world.moleculeAt(target) === TOXIN
    let energy = world.valueAt(from) - MOVE_COST
    world.reserve += MOVE_COST
    if (isToxic) {
      const isKin = world.clanAt(target) === population.clan[slot]
      const burnt = isKin ? 0 : Math.min(energy, found * TOXIN_BURNS)
      world.reserve += found + burnt
      energy -= burnt
    } else energy += found
    energy -= this.#leaveTrail(slot, from, energy)
    if (energy > MOST_ENERGY) {
      world.reserve += energy - MOST_ENERGY
      energy = MOST_ENERGY
    }
    population.cell[slot] = target
    world.put(target, CORE, energy, population.id[slot] as number, population.clan[slot] as number)
  }

  /** Returns the cost of the trail. An organism with little energy leaves none. */
  #leaveTrail(slot: number, cell: number, energy: number): number {
    const world = this.#world
    const isVenomous = world.random.next() >>> 22 < this.#gene(slot, VENOM)
    const value = isVenomous ? TOXIN_VALUE : LEAST_TRAIL + (this.#gene(slot, TRAIL) >> 6)
    if (energy < 4 * value) {
      world.clear(cell)
      return 0
    }
    const population = this.#population
    const what = isVenomous ? TOXIN : STRUCTURE
    world.put(cell, what, value, population.id[slot] as number, population.clan[slot] as number)
    return value
  }

  #bite(slot: number, target: number): void {
    const world = this.#world
    const cell = this.#population.cell[slot] as number
    const taken = Math.min(BITE, world.valueAt(target))
    const lost = taken >> 2
    world.reserve += lost
    world.value[cell] = world.valueAt(cell) + taken - lost
    world.value[target] = world.valueAt(target) - taken
    if (world.valueAt(target) === 0) this.#starve(this.#population.slotOf(world.ownerAt(target)))
  }

  #divide(slot: number, tick: number): void {
    const world = this.#world
    const population = this.#population
    const cell = population.cell[slot] as number
    const target = this.#freeNeighbour(cell, population.clan[slot] as number)
    if (target < 0) return
    const given = (world.valueAt(cell) * 7) >> 4
    world.value[cell] = world.valueAt(cell) - given
    const child = this.#settle(target, given, population.id[slot] as number, tick)
    this.#inherit(
      child,
      population.genome,
      slot * GENOME_BYTES,
      population.lineage[slot] as number,
      population.drift[slot] as number,
    )
    this.totals.births++
  }

  /** The first neighbour that is empty, has food, or is kin's trail, in random order of directions. */
  #freeNeighbour(cell: number, clan: number): number {
    const world = this.#world
    const start = world.random.below(world.directions)
    for (let turn = 0; turn < world.directions; turn++) {
      const target = world.properties.step(cell, (start + turn) % world.directions)
      if (target < 0) continue
      const what = world.moleculeAt(target)
      if (what <= ENERGY || (what === STRUCTURE && world.clanAt(target) === clan)) return target
    }
    return -1
  }

  /** A new organism in a cell without a core; it takes what is there. */
  #settle(cell: number, energy: number, parent: number, tick: number): number {
    const world = this.#world
    const population = this.#population
    if (this.totals.lastId === LARGEST_ID) {
      throw new SimulationError(`All ${LARGEST_ID} organism ids of this run are used. Start a new run`)
    }
    const slot = population.add()
    population.id[slot] = ++this.totals.lastId
    population.parent[slot] = parent
    population.birthTick[slot] = tick
    population.drift[slot] = 0
    population.cell[slot] = cell
    population.direction[slot] = world.random.below(world.directions)
    world.put(cell, CORE, energy + world.valueAt(cell), this.totals.lastId, NO_CLAN)
    this.totals.alive++
    return slot
  }

  /** The parent's genome with mutations, and its lineage unless there are too many mutations. */
  #inherit(slot: number, genome: Uint8Array, from: number, lineage: number, drift: number): void {
    const population = this.#population
    const changed = writeChild(
      genome,
      from,
      population.genome,
      slot * GENOME_BYTES,
      this.#mutationRate,
      this.#world.random,
    )
    const isOfItsOwn = drift + changed >= NEW_LINEAGE_AT
    population.drift[slot] = isOfItsOwn ? 0 : drift + changed
    this.#setLineage(slot, isOfItsOwn ? (population.id[slot] as number) : lineage)
  }

  #setLineage(slot: number, lineage: number): void {
    const population = this.#population
    population.lineage[slot] = lineage
    population.clan[slot] = clanOf(lineage)
    this.#world.clan[population.cell[slot] as number] = clanOf(lineage)
  }

  /** Leaves food for others where it died. */
  #dieOfAge(slot: number): void {
    const world = this.#world
    const cell = this.#population.cell[slot] as number
    world.put(cell, ENERGY, world.valueAt(cell), NO_OWNER, NO_CLAN)
    this.#bury(slot)
  }

  /** Leaves poison where it died: the cell is avoided for a while. */
  #starve(slot: number): void {
    const world = this.#world
    const population = this.#population
    const cell = population.cell[slot] as number
    const value = world.draw(TOXIN_VALUE)
    if (value === 0) world.clear(cell)
    else world.put(cell, TOXIN, value, population.id[slot] as number, population.clan[slot] as number)
    this.#bury(slot)
  }

  #bury(slot: number): void {
    this.#population.dead[slot] = 1
    this.totals.deaths++
    this.totals.alive--
    this.#spores.keep(this.#population, slot)
  }

  /** Keeps life from ending with a bad year: a spore of a dead organism hatches somewhere. */
  #hatch(tick: number): void {
    const world = this.#world
    if (this.#spores.count === 0 || !world.random.happens(HATCH_CHANCE)) return
    const cell = world.random.below(world.size)
    if (world.moleculeAt(cell) > ENERGY || world.reserve === 0) return
    const spore = world.random.below(this.#spores.count)
    const { parent, lineage, drift, genome } = this.#spores
    const slot = this.#settle(cell, world.draw(FOUNDER_ENERGY), parent[spore] as number, tick)
    this.#inherit(slot, genome, spore * GENOME_BYTES, lineage[spore] as number, drift[spore] as number)
    this.totals.births++
  }

  #pay(cell: number, amount: number): void {
    const world = this.#world
    const paid = Math.min(amount, world.valueAt(cell))
    world.value[cell] = world.valueAt(cell) - paid
    world.reserve += paid
  }

  #gene(slot: number, gene: number): number {
    return this.#population.genome[slot * GENOME_BYTES + gene] as number
  }
}
