/** Rates of the last five minutes for the sparklines of topics: one request, then the live figures. */

const STEP_MS = 10_000
export const POINTS = 30

type Known = { readonly slot: number; readonly values: readonly (number | null)[] }
export type RecentRates = ReadonlyMap<string, Known>

export const slotOf = (ms: number): number => Math.floor(ms / STEP_MS)

/** The answer of `/history`. Its newest point is incomplete, so it is left out: the live rate replaces it. */
export function fromHistory(
  before: RecentRates,
  {
    end,
    series,
  }: {
    readonly end: string
    readonly series: { readonly [name: string]: { readonly published?: readonly (number | null)[] } }
  },
  asked: readonly string[],
): RecentRates {
  const slot = slotOf(Date.parse(end)) - 1
  const after = new Map(before)
  for (const topic of asked) {
    const known = series[`topic:${topic}`]?.published?.slice(0, -1) ?? []
    const missing = Math.max(0, POINTS - known.length)
    after.set(topic, { slot, values: [...new Array<null>(missing).fill(null), ...known.slice(-POINTS)] })
  }
  return after
}

/** Adds the steps that have ended since then. Steps without a reading are unknown. */
export function advance(before: RecentRates, slot: number, rateOf: (topic: string) => number | undefined): RecentRates {
  if ([...before.values()].every(known => known.slot >= slot)) return before
  return new Map(
    [...before].map(([topic, known]): [string, Known] => {
      const steps = Math.min(POINTS, slot - known.slot)
      if (steps <= 0) return [topic, known]
      const gap = new Array<null>(steps - 1).fill(null)
      return [topic, { slot, values: [...known.values, ...gap, rateOf(topic) ?? null].slice(-POINTS) }]
    }),
  )
}

/** Groups of names whose request fits into a URL. */
export function batches(topics: readonly string[], most = 100, mostCharacters = 6_000): string[][] {
  const all: string[][] = []
  let length = Number.POSITIVE_INFINITY
  for (const topic of topics) {
    const own = encodeURIComponent(`topic:${topic},`).length
    const current = all.at(-1)
    if (current === undefined || current.length >= most || length + own > mostCharacters) {
      all.push([topic])
      length = own
    } else {
      current.push(topic)
      length += own
    }
  }
  return all
}
