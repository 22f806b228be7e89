import { NO_CELL } from '../../environment/properties.ts'
import { GENOME_BYTES, REST, SIGHT, STRAIGHT, signed, TURN, WHIM } from './genome.ts'
import { prevails } from './lineage.ts'
import { CORE, ENERGY, STRUCTURE, TOXIN } from './molecules.ts'
import type { Population } from './population.ts'
import type { World } from './world.ts'

/** What an organism sees in a cell: the number of the gene that weighs it. */
export const SEES_NOTHING = -1
export const SEES_ENERGY = 0
export const SEES_TOXIN = 1
export const SEES_OWN_TRAIL = 2
export const SEES_PREY_TRAIL = 3
export const SEES_WALL = 4
export const SEES_KIN = 5
export const SEES_PREY = 6
export const SEES_PREDATOR = 7

export const STAY = -1
/** Food counts by its amount, at most this much. */
const FILLING = 32
/** All else counts as much as this amount of food. */
const OTHERWISE = 8

/**
 * Chooses where an organism goes: the direction with the highest score, or STAY. A direction scores what is seen along
 * it, weighed by the genes and divided by the distance, plus the liking for that turn, plus a whim.
 */
export function chooseDirection(world: World, population: Population, slot: number): number {
  const { genome } = population
  const genes = slot * GENOME_BYTES
  const heading = population.direction[slot] as number
  const whim = genome[genes + WHIM] as number
  let best = STAY
  let bestScore = signed(genome[genes + REST] as number) * 8 + whimsical(world, whim)
  for (let direction = 0; direction < world.directions; direction++) {
    const first = world.properties.step(population.cell[slot] as number, direction)
    if (first === NO_CELL) continue
    const turn = turnScore(world, genome, genes, heading, direction)
    const score = sightScore(world, population, slot, first, direction) + turn + whimsical(world, whim)
    if (score > bestScore) {
      bestScore = score
      best = direction
    }
  }
  return best
}

function sightScore(world: World, population: Population, slot: number, first: number, direction: number): number {
  const { genome } = population
  const genes = slot * GENOME_BYTES
  const lineage = population.lineage[slot] as number
  const sight = 1 + ((genome[genes + SIGHT] as number) >> 6)
  let score = 0
  let cell = first
  for (let distance = 1; distance <= sight; distance++) {
    const seen = look(world, cell, lineage)
    if (seen !== SEES_NOTHING) {
      const amount = seen === SEES_ENERGY ? Math.min(world.valueAt(cell), FILLING) : OTHERWISE
      score += ((signed(genome[genes + seen] as number) * amount) / distance) | 0
      if (seen >= SEES_WALL) break // It hides what is behind it.
    }
    cell = world.properties.step(cell, direction)
    if (cell === NO_CELL) break
  }
  return score
}

/** Kin's poison harms nobody of the lineage, so it is not seen. */
export function look(world: World, cell: number, lineage: number): number {
  const what = world.moleculeAt(cell)
  if (what === ENERGY) return SEES_ENERGY
  if (what < STRUCTURE) return SEES_NOTHING
  const other = world.lineageAt(cell)
  if (what === TOXIN) return other === lineage ? SEES_NOTHING : SEES_TOXIN
  if (other === lineage) return what === CORE ? SEES_KIN : SEES_OWN_TRAIL
  if (prevails(lineage, other)) return what === CORE ? SEES_PREY : SEES_PREY_TRAIL
  return what === CORE ? SEES_PREDATOR : SEES_WALL
}

/** Going on, or a turn to the one side rather than the other; turning back is liked neither more nor less. */
function turnScore(world: World, genome: Uint8Array, genes: number, heading: number, direction: number): number {
  const turn = (direction - heading + world.directions) % world.directions
  if (turn === 0) return signed(genome[genes + STRAIGHT] as number) * 8
  if (turn * 2 === world.directions) return 0
  const liking = signed(genome[genes + TURN] as number) * 4
  return turn * 2 < world.directions ? liking : -liking
}

const whimsical = (world: World, whim: number): number => ((world.random.next() >>> 24) * whim) >> 5
