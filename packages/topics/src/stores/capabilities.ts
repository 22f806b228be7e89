/** What engines differ in. The code asks these, never an engine's name. */
export type Capabilities = {
  /** Data outlive the process. Two stores at one location share their data, unless they are in memory. */
  readonly persistent: boolean
  /** There is one connection, which a caller's transaction holds while it is open. */
  readonly oneConnection?: boolean
}
