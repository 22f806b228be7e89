import type { Metrics } from './service-shapes.ts'

const KEPT = 120
/** A counter's rate is its difference over this long: shorter ones jump. */
const WINDOW_MS = 5_000
/** Counters of services that tell no rate of their own, and their unit. */
const COUNTERS = ['ticks', 'batchesWritten', 'metadataWritten'] as const
const UNITS: { readonly [name in (typeof COUNTERS)[number]]: string } = {
  ticks: 'ticks/s',
  batchesWritten: 'batches/s',
  metadataWritten: 'runs/s',
}

export type Speed = { readonly value: number; readonly unit: string }
type Sample = { readonly at: number; readonly metrics: Metrics }

/** Rates of the last two minutes, for as long as the page is open. */
export class RateMemory {
  readonly #values: (number | null)[] = []
  readonly #samples: Sample[] = []

  get values(): readonly (number | null)[] {
    return this.#values
  }

  /** The rate as the service tells it, or the difference of its main counter; undefined while it is not known. */
  add(metrics: Metrics, at: number): Speed | undefined {
    while (this.#samples.length > 1 && (this.#samples[1]?.at ?? at) <= at - WINDOW_MS) this.#samples.shift()
    const before = this.#samples[0]
    this.#samples.push({ at, metrics })
    const speed = toldRate(metrics) ?? (before && countedRate(before, { at, metrics }))
    this.#values.push(speed?.value ?? null)
    if (this.#values.length > KEPT) this.#values.shift()
    return speed
  }
}

function toldRate(metrics: Metrics): Speed | undefined {
  const value = metrics.ticksPerSecond
  return value === undefined ? undefined : { value, unit: 'ticks/s' }
}

function countedRate(before: Sample, now: Sample): Speed | undefined {
  const name = COUNTERS.find(each => now.metrics[each] !== undefined)
  const elapsedMs = now.at - before.at
  if (name === undefined || elapsedMs <= 0) return undefined
  // A counter that fell began anew with its service.
  const counted = Math.max(0, (now.metrics[name] ?? 0) - (before.metrics[name] ?? 0))
  return { value: (counted / elapsedMs) * 1_000, unit: UNITS[name] }
}
