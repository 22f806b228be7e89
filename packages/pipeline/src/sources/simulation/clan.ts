/**
 * Every lineage belongs to one of 256 clans that stand in a circle. A clan prevails over the 127 ahead of it and is the
 * prey of the 127 behind it. Nobody is the strongest: whoever takes over becomes the prey of others. That keeps many
 * lineages going, and gives the waves.
 */
export const clanOf = (lineage: number): number => Math.imul(lineage, GOLDEN) >>> 24

export function prevails(clan: number, over: number): boolean {
  const ahead = (over - clan) & 0xff
  return ahead > 0 && ahead < 128
}

/** 2^32 over the golden ratio: the upper bits of its multiples scatter lineages that follow each other. */
const GOLDEN = 0x9e3779b1
