/** Differences between engines. The code checks these, never an engine's name. */
export type Capabilities = {
  /** Whether data outlive the process. Two stores at one location share their data, unless they are in memory. */
  readonly persistent: boolean
  /** Whether there is only one connection, which a caller's open transaction occupies. */
  readonly oneConnection?: boolean
}
