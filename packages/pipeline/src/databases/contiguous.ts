export type Span = { readonly first: number; readonly last: number }

/** Whole numbers, in any order and possibly repeated, as ranges without gaps: 3 1 2 7 → 1 to 3, 7 to 7. */
export function contiguous(numbers: Iterable<number>): Span[] {
  const runs: { first: number; last: number }[] = []
  for (const number of [...new Set(numbers)].sort((a, b) => a - b)) {
    const run = runs.at(-1)
    if (run !== undefined && run.last + 1 === number) run.last = number
    else runs.push({ first: number, last: number })
  }
  return runs
}
