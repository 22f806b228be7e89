/** What the work of one process costs it, in microseconds of processor time. */
export type Costs = {
  /** A publish, whatever its size, and each of its messages. */
  readonly batch: number
  readonly published: number
  /** The start of a group, once. */
  readonly start: number
  /** A turn of the event loop in which groups take pages: their claims and settlements share a transaction. */
  readonly turn: number
  /** A page of a group (claim, dispatch, settlement), whatever its size. */
  readonly page: number
  /** A group that waits is woken by a publish. */
  readonly wake: number
  /** Each message that the process reads, once for all of its groups. */
  readonly read: number
  /** Each message that a group decodes, handles and acknowledges. */
  readonly delivered: number
}

/** Work for one process: so many messages are published in batches, and each group gets them in pages. */
export type Load = {
  readonly messages: number
  readonly batch: number
  readonly groups: number
  readonly page: number
  /** Publisher and groups work at the same time; otherwise the groups start when everything is published. */
  readonly live: boolean
}
