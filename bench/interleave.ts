import { median } from './statistics.ts'

/** Does the work once and gives its rate, or whatever else one sample is. */
export type Side = () => Promise<number>

export type Medians<Name extends string> = {
  readonly medians: { readonly [name in Name]: number }
  readonly samples: { readonly [name in Name]: readonly number[] }
}

/**
 * Measures the sides in turn, round after round (a, b, a, b, …): what else the machine does then falls on all of them
 * alike. One round before the first is not counted: it warms up the compiler, the caches and the files.
 */
export async function interleave<Name extends string>(
  rounds: number,
  sides: { readonly [name in Name]: Side },
): Promise<Medians<Name>> {
  const names = Object.keys(sides) as Name[]
  const samples = Object.fromEntries(names.map(name => [name, [] as number[]])) as { [name in Name]: number[] }
  for (let round = 0; round <= rounds; round++) {
    for (const name of names) {
      collectGarbage()
      const sample = await sides[name]()
      if (round > 0) samples[name].push(sample)
    }
  }
  const medians = Object.fromEntries(names.map(name => [name, median(samples[name])])) as { [name in Name]: number }
  return { medians, samples }
}

/** One side's garbage is not to be collected at the expense of the next. Needs --expose-gc, as `npm run bench` has. */
function collectGarbage(): void {
  globalThis.gc?.()
}

/** Units of work per second. */
export async function rateOf(count: number, work: () => unknown): Promise<number> {
  const started = performance.now()
  await work()
  return (count * 1_000) / (performance.now() - started)
}
