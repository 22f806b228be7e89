/** What an engine can and can't do, asked in place of its name. */
export type Capabilities = {
  /** Other machines may share the database. */
  readonly networked: boolean
  /** Writers commit in any order, so positions are windows between snapshots rather than ids. */
  readonly concurrentWriters: boolean
  /** Another process's publish reaches this one's consumers by a message; otherwise a change is noticed by looking. */
  readonly notifies: boolean
  /** Data outlive the process. */
  readonly persistent: boolean
}
