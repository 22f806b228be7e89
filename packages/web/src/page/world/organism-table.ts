import type { Organism } from './organism.ts'

type Column = 'id' | 'lineage' | 'energy' | 'age'
export type Sort = { readonly by: Column; readonly isUp: boolean }

export const SORTS: readonly { readonly by: Column; readonly title: string; readonly isNumber: boolean }[] = [
  { by: 'id', title: 'Id', isNumber: false },
  { by: 'lineage', title: 'Lineage', isNumber: false },
  { by: 'energy', title: 'Energy', isNumber: true },
  { by: 'age', title: 'Age', isNumber: true },
]

/** `77` and `#77` are ids, `lineage 4` a lineage. */
export function found(all: readonly Organism[], words: string): readonly Organism[] {
  const text = words.trim().toLowerCase()
  if (text === '') return all
  const ofLineage = /^l(?:ineage)?\s*(\d+)$/.exec(text)?.[1]
  if (ofLineage !== undefined) return all.filter(({ lineage }) => String(lineage) === ofLineage)
  const id = text.replace(/^#/, '')
  return all.filter(organism => String(organism.id).startsWith(id))
}

const numberOf: { readonly [column in Column]: (organism: Organism) => number } = {
  id: ({ id }) => id,
  lineage: ({ lineage }) => lineage,
  energy: ({ energy }) => energy,
  age: ({ birthTick }) => -birthTick,
}

/** Equal ones by id, so that rows don't change places between two ticks. */
export function sorted(all: readonly Organism[], { by, isUp }: Sort): readonly Organism[] {
  const of = numberOf[by]
  return all.toSorted((one, other) => (isUp ? of(one) - of(other) : of(other) - of(one)) || one.id - other.id)
}
