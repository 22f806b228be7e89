import type { EngineName } from '../../suite.ts'
import type { Criterion } from './criterion.ts'
import type { CheckpointDatabase, DatabaseOptions } from './database.ts'

/** A load test or fault scenario with pass criteria: what must hold before anybody relies on the system. */
export type Checkpoint = {
  readonly name: string
  readonly about: string
  /** Engines it makes sense on; the first is the default. */
  readonly engines: readonly EngineName[]
  /** Expected duration in seconds, for the progress bar and the help. */
  readonly seconds: { readonly scaled: number; readonly full: number }
  run(stage: Stage): Promise<Outcome>
}

/** What a running checkpoint gets from the frame. */
export type Stage = {
  readonly engine: EngineName
  /** The length and sizes as the specification writes them. */
  readonly full: boolean
  /** Aborted by Ctrl-C. Every wait ends with it. */
  readonly signal: AbortSignal
  /** The first in a scaled run, the second in a full one. */
  pick<T>(scaled: T, full: T): T
  /** Names the phase that begins now. */
  phase(text: string): void
  /** Lets time pass. */
  pause(seconds: number): Promise<void>
  /** Polls until the condition holds, and returns the seconds it took; null at the timeout. */
  within(seconds: number, condition: () => boolean | Promise<boolean>): Promise<number | null>
  /** A new database of the engine, gone at the end of the run. */
  database(options?: DatabaseOptions): Promise<CheckpointDatabase>
}

export type Outcome = {
  readonly criteria: readonly Criterion[]
  /** What was measured besides the criteria, for the JSON. */
  readonly figures?: Readonly<Record<string, unknown>>
  /** What a reader has to know. */
  readonly remarks?: readonly string[]
}
