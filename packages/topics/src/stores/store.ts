import type { NamespaceGoneError } from '../errors.ts'
import type { Backfills } from './backfills.ts'
import type { Capabilities } from './capabilities.ts'
import type { DeadLetters } from './dead-letters.ts'
import type { Heartbeats } from './heartbeats.ts'
import type { Inspection } from './inspection.ts'
import type { Jobs } from './jobs.ts'
import type { Leases } from './leases.ts'
import type { Log } from './log.ts'
import type { Subscriptions } from './subscriptions.ts'
import type { Topics } from './topics.ts'
import type { ReferenceTracking } from './tracking.ts'

/**
 * What an engine must do, one object per concept. Each has its interface in the file of its name beside this one, and its
 * implementation in the file of the same name in the engine's folder. One conformance suite runs on every
 * implementation, and a model-based property test drives them with the same commands.
 */
export type Store = StoreConcepts & {
  readonly capabilities: Capabilities
  /** For people and error messages: the address without secrets. */
  readonly location: string

  /** Calls back with a topic's id (null: any) when another process may have published. Only a hint. */
  watch(wake: (topicId: number | null) => void): void
  /** Tells the other processes' watchers that the topic may have something new. Never fails. */
  hint(topicId: number): void
  /**
   * Calls back once, when the namespace turns out to be gone: dropped, made anew, or its file removed or replaced. From
   * then on every call rejects with that NamespaceGoneError, and nothing is read or written.
   */
  onGone(tell: (error: NamespaceGoneError) => void): void
  /** Removes every topic and message of the namespace. The store can't be used afterwards. */
  dropNamespace(): Promise<void>
  /** What still runs after this many milliseconds is cut off, where the engine can. */
  close(withinMs?: number): Promise<void>
}

export type StoreConcepts = {
  readonly topics: Topics
  readonly log: Log
  readonly subscriptions: Subscriptions
  readonly heartbeats: Heartbeats
  readonly leases: Leases
  readonly deadLetters: DeadLetters
  readonly tracking: ReferenceTracking
  readonly backfills: Backfills
  readonly jobs: Jobs
  readonly inspection: Inspection
}
