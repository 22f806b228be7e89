/** Result of a repair. */
export type RepairReport = {
  /** Location of the database, without secrets. */
  readonly location: string
  /** Problems found, one sentence each. */
  readonly problems: readonly string[]
  /** Changes made, one sentence each. */
  readonly changes: readonly string[]
  /** Whether no problem remains. */
  readonly mended: boolean
}
