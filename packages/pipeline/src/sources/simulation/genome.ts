import type { Random } from './random.ts'

/**
 * An organism's genome: bytes, each the strength of one preference. It is not a program; `behaviour.ts` weights what
 * the organism sees with it.
 */
export const GENES = [
  // Preference for moving towards this; signed.
  'towardsEnergy',
  'towardsToxin',
  'towardsOwnTrail',
  'towardsPreyTrail',
  'towardsWall',
  'towardsKin',
  'towardsPrey',
  'towardsPredator',
  // Preference for going straight, for turning one way over the other, for staying; signed.
  'straight',
  'turn',
  'rest',
  // From 0 up.
  'whim',
  'sight',
  'divideAt',
  'trail',
  'venom',
] as const

export const GENOME_BYTES = GENES.length

/** Indexes of the genes that are not preferences for what is seen. */
export const STRAIGHT = 8
export const TURN = 9
export const REST = 10
export const WHIM = 11
export const SIGHT = 12
export const DIVIDE_AT = 13
export const TRAIL = 14
export const VENOM = 15

/**
 * A grazer that avoids poison and walls, hunts a little, and keeps to the trails of its own clan: lineages then hold
 * visible territory. With an aversion to trails (-10) and a strong preference for going straight (14), all lineages
 * mixed within 300 ticks.
 */
const ANCESTOR = [48, -60, 26, -14, -30, 6, 20, -40, 4, 0, -20, 16, 96, 90, 200, 8] as const
/**
 * Founders differ from the ancestor by up to this in every gene, so their lineages look and act differently at once.
 */
const FOUNDER_SPREAD = 40
const MUTATION_SPREAD = 24

export function writeFounder(genome: Uint8Array, at: number, random: Random): void {
  for (const [gene, value] of ANCESTOR.entries()) {
    genome[at + gene] = nudged(value & 0xff, gene, FOUNDER_SPREAD, random)
  }
}

/** Copies a genome with mutations; returns how many there were. `rate` is out of 65 536. */
export function writeChild(
  parents: Uint8Array,
  from: number,
  children: Uint8Array,
  to: number,
  rate: number,
  random: Random,
): number {
  let changed = 0
  for (let gene = 0; gene < GENOME_BYTES; gene++) {
    const value = parents[from + gene] as number
    const mutates = random.happens(rate)
    children[to + gene] = mutates ? nudged(value, gene, MUTATION_SPREAD, random) : value
    if (mutates) changed++
  }
  return changed
}

/** Clamped at the ends of the gene's range: wrapping around, the shyest would bear the boldest. */
function nudged(value: number, gene: number, spread: number, random: Random): number {
  const isSigned = gene < WHIM
  const number = (isSigned ? signed(value) : value) + random.below(2 * spread + 1) - spread
  return isSigned ? Math.max(-128, Math.min(127, number)) & 0xff : Math.max(0, Math.min(255, number))
}

export const signed = (byte: number): number => (byte << 24) >> 24
