import type { Order } from '../topics/payloads.ts'

/** One of those that are compared, on a database of its own, as its users would use it for the most throughput. */
export type Contender = AsyncDisposable & {
  readonly version: string
  /** Makes a topic of which each group gets every message. To be called once a name. */
  prepare(topic: string, groups: readonly string[]): Promise<void>
  /** Stores them at once. Resolves when they are on the disk. */
  publishBatch(topic: string, payloads: readonly Order[]): Promise<void>
  publish(topic: string, payload: Order): Promise<void>
  /**
   * Each group handles and acknowledges `messages`, which may be published meanwhile. Gives the time at which the last
   * acknowledgement was stored: what it takes to stop the consumers doesn't count.
   */
  drain(topic: string, messages: number): Promise<number>
  /** Hands over what comes to the first group, until it is disposed of. */
  listen(topic: string, handle: (payload: Order) => void): Promise<AsyncDisposable>
  /** As the database would by itself within a minute. */
  gatherStatistics?(): Promise<void>
  /** What its database has written and stores, in bytes and rows. */
  storage(): Promise<Storage>
}

export type Storage = {
  /** Bytes of the write-ahead log or append-only file so far; null where nobody counts them. */
  readonly written: number | null
  /** Bytes that the data takes now. */
  readonly stored: number
  /** Rows that only a vacuum removes; null where there are none such. */
  readonly dead: number | null
}

/** Messages that are fetched or acknowledged together. */
export const PAGE = 1_000

/** What every handler does: a look at the payload. */
export function handleOrder({ orderId }: Order): void {
  if (!(orderId > 0)) throw new Error('A message came without its order')
}

/** Gives others their turn where there was nothing to fetch. */
export const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))
