import type { Figure } from '../figure.ts'
import type { EngineName } from '../suite.ts'
import type { BenchEngine } from './engines/engine.ts'

/** What a case is run with. */
export type Bench = {
  readonly engine: BenchEngine
  /** How often each side is measured; medians are taken. */
  readonly rounds: number
  /** The size of a full run, or a tenth of it. */
  size(full: number): number
  progress(text: string): void
}

export type BenchCase = {
  readonly name: string
  readonly about: string
  readonly engines: readonly EngineName[]
  run(bench: Bench): Promise<Figure[]>
}
