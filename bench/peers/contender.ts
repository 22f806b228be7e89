import type { Order } from '../topics/payloads.ts'

/** One of those that are compared, on a database of its own, as its users would use it for the most throughput. */
export type Contender = AsyncDisposable & {
  readonly name: string
  readonly version: string
  /** Makes a topic of which each group gets every message. To be called once a name. */
  prepare(topic: string, groups: readonly string[]): Promise<void>
  /** Stores them at once. Resolves when they are on the disk. */
  publishBatch(topic: string, payloads: readonly Order[]): Promise<void>
  publish(topic: string, payload: Order): Promise<void>
  /** Resolves when each group has handled and acknowledged `messages`. */
  drain(topic: string, messages: number): Promise<void>
  /** Hands over what comes to the first group, until it is disposed of. */
  listen(topic: string, handle: (payload: Order) => void): Promise<AsyncDisposable>
}
