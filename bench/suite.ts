import type { Figure } from './figure.ts'

export const ENGINES = ['sqlite', 'postgres'] as const
export type EngineName = (typeof ENGINES)[number]

export type SuiteOptions = {
  readonly engines: readonly EngineName[]
  /** Cases whose names have this in them; undefined: all. */
  readonly only: string | undefined
  /** A tenth of the sizes: to see that it works, not to judge by. */
  readonly quick: boolean
  /** Says how far it is. */
  readonly progress: (text: string) => void
}

export type SuiteResult = {
  readonly figures: readonly Figure[]
  /** Versions of the engines that were measured. */
  readonly versions: { readonly [engine: string]: string }
  /** What a reader of the figures has to know. */
  readonly remarks: readonly string[]
  /** Printed in place of the table of all figures. */
  readonly text?: string
  /** More for the JSON. */
  readonly details?: object
  /** What the suite claims does not hold, so the command exits with 1. A missed target is no failure. */
  readonly failed?: boolean
  /** Writes the figures into the documentation. Gives the files it has written. */
  write?(): readonly string[]
}

export type Suite = {
  readonly name: string
  readonly about: string
  readonly cases: readonly { readonly name: string; readonly about: string }[]
  run(options: SuiteOptions): Promise<SuiteResult>
}
