/** A speed that the eye can follow, for a simulation that is configured to run without a limit. */
const FOLLOWED = 25
/** The server takes no higher limit. */
const HIGHEST = 1_000_000

/** The speeds to choose from: parts and multiples of the configured one, which is "1". */
export function speedsOf(
  configured: number | null,
): readonly (readonly [label: string, ticksPerSecond: number | null])[] {
  const one = configured ?? FOLLOWED
  return [
    ['¼', one / 4],
    ['1', one],
    ['4', Math.min(HIGHEST, one * 4)],
    ['16', Math.min(HIGHEST, one * 16)],
    ['∞', null],
  ]
}
