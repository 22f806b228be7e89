/** A lineage as the indexed ticks show it. */
export type LineageRow = {
  readonly lineage: number
  /** Lineage of the parent of its first organism; null: it was there from the start, or that is not known any more. */
  readonly parent: number | null
  /** First and last tick in which one of its organisms was seen. */
  readonly firstTick: number
  readonly lastTick: number
}
