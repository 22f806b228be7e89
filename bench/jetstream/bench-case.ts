import type { Figure } from '../figure.ts'

/** What a case is run with. */
export type Bench = {
  /** Address of the three servers. */
  readonly url: string
  /** How often each side is measured; medians are taken. */
  readonly rounds: number
  /** The size of a full run, or a tenth of it. */
  size(full: number): number
  progress(text: string): void
}

export type BenchCase = {
  readonly name: string
  readonly about: string
  run(bench: Bench): Promise<Figure[]>
}

export const ENGINE = 'jetstream'
export const REPLICAS = 3
/** Messages of a batch, and of a page that is claimed or acknowledged at once. */
export const PAGE = 1_000
/** What a process does in its first seconds is not measured: its code is not compiled yet. */
export const WARM_UP_MS = 3_000
