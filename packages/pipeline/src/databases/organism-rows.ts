import type { Transaction } from './transaction.ts'

/** What is known of an organism from the ticks that are indexed. */
export type OrganismRow = {
  readonly id: number
  readonly parentId: number | null
  readonly birthTick: number
  readonly lineage: number
  /** Where it was in the first tick it was seen in. */
  readonly birthPosition: readonly number[]
  readonly firstTick: number
  readonly lastTick: number
  /** In what is written: the tick that shows it dead. In what is read also the first tick that is indexed after its last. */
  readonly deathTick: number | null
}

/** One row an organism. What is read is null or empty where the table isn't there yet. */
export type OrganismRows = {
  /** Makes the table where it isn't there; after that of the ticks, which it is read together with. */
  prepare(tx: Transaction): Promise<void>
  /** Joins what is known already, the same in whatever order ticks come: the earliest tick tells of the birth. */
  write(rows: readonly OrganismRow[], tx: Transaction): Promise<void>
  /** Looks at this many after an id, and removes those that were last seen at this tick or before. */
  removeGone(afterId: number, lastTick: number, limit: number, tx: Transaction): Promise<RemovedOrganisms>
  read(id: number): Promise<OrganismRow | null>
  /** Itself first, then its parent, and so on. */
  ancestors(id: number, limit: number): Promise<OrganismRow[]>
  /** By id. */
  /** By id, those above `after`. */
  children(id: number, page: { readonly after: number; readonly limit: number }): Promise<OrganismRow[]>
}

/** `nextId`: where to look on; null: there are no more. */
export type RemovedOrganisms = { readonly removed: number; readonly nextId: number | null }

/** As the engines give it: the position is JSON there. */
export type StoredOrganism = Omit<OrganismRow, 'birthPosition'> & { readonly birthPosition: string }

export const organismOf = (row: StoredOrganism): OrganismRow => ({
  ...row,
  birthPosition: JSON.parse(row.birthPosition),
})
