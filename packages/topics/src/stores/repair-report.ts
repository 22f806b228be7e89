/** What a repair found and did. */
export type RepairReport = {
  readonly location: string
  /** What was wrong, each a sentence; empty: nothing. */
  readonly problems: readonly string[]
  /** What was changed, each a sentence; empty: nothing. */
  readonly changes: readonly string[]
  /** Nothing is wrong any more. */
  readonly mended: boolean
}
