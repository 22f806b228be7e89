/**
 * Every lineage belongs to one of 256 clans, arranged in a circle. A clan preys on the 127 ahead of it and is the prey
 * of the 127 behind it. No clan is the strongest: whoever takes over becomes the prey of others. That keeps many
 * lineages alive, and produces the waves.
 */
export const clanOf = (lineage: number): number => Math.imul(lineage, GOLDEN) >>> 24

export function prevails(clan: number, over: number): boolean {
  const ahead = (over - clan) & 0xff
  return ahead > 0 && ahead < 128
}

/** 2^32 divided by the golden ratio: the upper bits of its multiples scatter consecutive lineages. */
const GOLDEN = 0x9e3779b1
