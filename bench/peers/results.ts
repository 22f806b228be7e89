import { median } from '../statistics.ts'
import type { Entrant } from './entrants.ts'
import type { LineName } from './line.ts'
import type { Turn } from './turn.ts'

/** What a contender reached on a line, one value a round. */
type Samples = readonly (number | null)[]

export type Result = {
  readonly entrant: Entrant
  readonly version: string
  /** Why it was not measured, or not to its end; null where it was. */
  readonly skipped: string | null
  /** Medians; null where it could not do it in most rounds, absent where it was not asked to. */
  readonly values: ReadonlyMap<LineName, number | null>
  readonly samples: ReadonlyMap<LineName, Samples>
}

export type Results = {
  readonly at: Date
  readonly quick: boolean
  readonly rounds: number
  /** Machine, node, servers. */
  readonly facts: { readonly [fact: string]: string | number }
  readonly all: readonly Result[]
}

export function resultOf(entrant: Entrant, turns: readonly Turn[], missing: string | null): Result {
  const samples = new Map<LineName, (number | null)[]>()
  for (const { values } of turns) {
    for (const [name, value] of Object.entries(values)) {
      const line = name as LineName
      samples.set(line, [...(samples.get(line) ?? []), value])
    }
  }
  return {
    entrant,
    version: turns.find(({ version }) => version !== '')?.version ?? '',
    skipped: missing ?? turns.find(({ failure }) => failure !== null)?.failure ?? null,
    values: new Map([...samples].map(([line, each]) => [line, medianOf(each)])),
    samples,
  }
}

function medianOf(samples: Samples): number | null {
  const numbers = samples.filter(each => each !== null)
  return numbers.length * 2 > samples.length ? median(numbers) : null
}
