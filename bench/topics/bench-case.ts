import type { Figure } from '../figure.ts'
import type { EngineName } from '../suite.ts'
import type { BenchDatabase } from './engines/engine.ts'

/** What a case is run with. */
export type Bench<Engine = BenchDatabase> = {
  readonly engine: Engine
  /** How often each side is measured; medians are taken. */
  readonly rounds: number
  /** The size of a full run, or a tenth of it. */
  size(full: number): number
  progress(text: string): void
}

export type BenchCase<Engine = BenchDatabase> = {
  readonly name: string
  readonly about: string
  readonly engines: readonly EngineName[]
  run(bench: Bench<Engine>): Promise<Figure[]>
}
