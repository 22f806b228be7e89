import type { LineageRow } from './lineage-rows.ts'
import type { Transaction } from './transaction.ts'

/** What the indexed ticks show about an organism. */
export type OrganismRow = {
  readonly id: number
  readonly parentId: number | null
  readonly birthTick: number
  readonly lineage: number
  /** Position in the first tick in which it was seen. */
  readonly birthPosition: readonly number[]
  readonly firstTick: number
  readonly lastTick: number
  /** When written: the tick that shows it dead. When read, also the first indexed tick after its last one. */
  readonly deathTick: number | null
}

/** One row per organism. Results are null or empty while the table does not exist. */
export type OrganismRows = {
  /** Creates the table if it does not exist, after the table of ticks that it is joined with. */
  prepare(tx: Transaction): Promise<void>
  /**
   * Merges with stored rows. The result does not depend on the order of ticks: the earliest tick determines the birth.
   */
  write(rows: readonly OrganismRow[], tx: Transaction): Promise<void>
  /** Checks this many organisms after an id, and removes those that were last seen at or before this tick. */
  removeGone(afterId: number, lastTick: number, limit: number, tx: Transaction): Promise<RemovedOrganisms>
  read(id: number): Promise<OrganismRow | null>
  /** Lineages of these organisms, as far as they are known. */
  lineagesOf(ids: readonly number[]): Promise<{ readonly id: number; readonly lineage: number }[]>
  /** Those of these lineages that are known. */
  lineages(lineages: readonly number[]): Promise<LineageRow[]>
  /** The organism, its parent, and so on. */
  ancestors(id: number, limit: number): Promise<OrganismRow[]>
  /** Sorted by id. */
  /** Sorted by id, those above `after`. */
  children(id: number, page: { readonly after: number; readonly limit: number }): Promise<OrganismRow[]>
}

/** `nextId`: where to continue; null: there are no more. */
export type RemovedOrganisms = { readonly removed: number; readonly nextId: number | null }

/** As the engines return it: the position is JSON. */
export type StoredOrganism = Omit<OrganismRow, 'birthPosition'> & { readonly birthPosition: string }

export const organismOf = (row: StoredOrganism): OrganismRow => ({
  ...row,
  birthPosition: JSON.parse(row.birthPosition),
})
