/**
 * Every lineage has a place on a circle of 256, and prevails over those up to half the circle ahead of it. Nobody is
 * the strongest: whoever takes over becomes the prey of others. That keeps many lineages going, and gives the waves.
 */
export function prevails(lineage: number, over: number): boolean {
  return ((placeOf(over) - placeOf(lineage)) & 0xff) < 128
}

/** Neighbouring numbers are far apart: multiplied by 2^32 over the golden ratio, the upper bits. */
export const placeOf = (lineage: number): number => Math.imul(lineage, 0x9e3779b1) >>> 24
