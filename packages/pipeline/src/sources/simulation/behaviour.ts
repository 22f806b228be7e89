import { prevails } from './clan.ts'
import { GENOME_BYTES, REST, SIGHT, STRAIGHT, signed, TURN, WHIM } from './genome.ts'
import { CORE, ENERGY, STRUCTURE, TOXIN } from './molecules.ts'
import type { Population } from './population.ts'
import type { World } from './world.ts'

/** What an organism sees in a cell: the number of the gene that weights it. */
const SEES_NOTHING = -1
const SEES_ENERGY = 0
const SEES_TOXIN = 1
const SEES_OWN_TRAIL = 2
const SEES_PREY_TRAIL = 3
export const SEES_WALL = 4
export const SEES_KIN = 5
export const SEES_PREY = 6
export const SEES_PREDATOR = 7

export const STAY = -1
/** Food counts by its amount, at most this much. */
const FILLING = 32
/** Everything else counts as much as this amount of food. */
const OTHERWISE = 8
/** Lower than any score of what is seen. */
const BLOCKED = -(2 ** 30)

/**
 * Chooses where an organism goes: the direction with the highest score, or STAY. A direction scores what is seen along
 * it, weighted by the genes and halved with every step of distance, plus the preference for that turn, plus a random
 * whim.
 */
export function chooseDirection(world: World, population: Population, slot: number): number {
  const { genome } = population
  const genes = slot * GENOME_BYTES
  const heading = population.direction[slot] as number
  const whim = genome[genes + WHIM] as number
  let best = STAY
  let bestScore = signed(genome[genes + REST] as number) * 4 + whimsical(world, whim)
  for (let direction = 0; direction < world.directions; direction++) {
    const seen = sightScore(world, population, slot, direction)
    if (seen === BLOCKED) continue
    const score = seen + turnScore(world, genome, genes, heading, direction) + whimsical(world, whim)
    if (score > bestScore) {
      bestScore = score
      best = direction
    }
  }
  return best
}

/**
 * Walks along the line itself, with two divisions per direction. With `properties.step`, which takes two per cell, and
 * with 32-bit lineages instead of clans, sight took half of the time: 138 ticks/s on 500 × 500, against 209.
 */
function sightScore(world: World, population: Population, slot: number, direction: number): number {
  const { genome } = population
  const genes = slot * GENOME_BYTES
  const clan = population.clan[slot] as number
  const sight = 1 + ((genome[genes + SIGHT] as number) >> 6)
  const { isTorus } = world.properties
  const stride = world.strideOf(direction)
  const length = world.lengthOf(direction)
  const isUp = direction < world.properties.dimensions
  let cell = population.cell[slot] as number
  let place = ((cell / stride) | 0) % length
  let score = 0
  for (let distance = 1; distance <= sight; distance++) {
    const isAtEnd = isUp ? place === length - 1 : place === 0
    if (isAtEnd && !isTorus) return distance === 1 ? BLOCKED : score
    const next = isAtEnd ? (isUp ? 0 : length - 1) : isUp ? place + 1 : place - 1
    cell += (next - place) * stride
    place = next
    const seen = look(world, cell, clan)
    if (seen === SEES_NOTHING) continue
    const amount = seen === SEES_ENERGY ? Math.min(world.valueAt(cell), FILLING) : OTHERWISE
    score += (signed(genome[genes + seen] as number) * amount) >> distance
    if (seen >= SEES_WALL) return score // It hides what is behind it.
  }
  return score
}

/** The poison of kin harms nobody of the clan, so it is not seen. */
export function look(world: World, cell: number, clan: number): number {
  const what = world.moleculeAt(cell)
  if (what === ENERGY) return SEES_ENERGY
  if (what < STRUCTURE) return SEES_NOTHING
  const other = world.clanAt(cell)
  if (what === TOXIN) return other === clan ? SEES_NOTHING : SEES_TOXIN
  if (other === clan) return what === CORE ? SEES_KIN : SEES_OWN_TRAIL
  if (prevails(clan, other)) return what === CORE ? SEES_PREY : SEES_PREY_TRAIL
  return what === CORE ? SEES_PREDATOR : SEES_WALL
}

/** Preference for going straight, or for one side over the other; turning back is neutral. */
function turnScore(world: World, genome: Uint8Array, genes: number, heading: number, direction: number): number {
  const turn = (direction - heading + world.directions) % world.directions
  if (turn === 0) return signed(genome[genes + STRAIGHT] as number) * 4
  if (turn * 2 === world.directions) return 0
  const liking = signed(genome[genes + TURN] as number) * 2
  return turn * 2 < world.directions ? liking : -liking
}

const whimsical = (world: World, whim: number): number => ((world.random.next() >>> 24) * whim) >> 6
