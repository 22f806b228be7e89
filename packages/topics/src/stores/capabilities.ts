/** Differences between engines. The code checks these, never an engine's name. */
export type Capabilities = {
  /** Whether data outlive the process. Two stores at one location share their data, unless they are in memory. */
  readonly persistent: boolean
  /** Whether there is only one connection, which a caller's open transaction occupies. */
  readonly oneConnection?: boolean
  /**
   * Publishes of a topic that may be under way at once, if they are large (default 1). They are stored in the order in
   * which they begin, as long as none has to be repeated.
   */
  readonly publishesAtOnce?: number
}
