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
  /** How the engine differs from others. */
  readonly capabilities: Capabilities
  /** Address without secrets, for people and error messages. */
  readonly location: string

  /** Calls `wake` with a topic's id (null: any) when another process may have published. Only a hint. */
  watch(wake: (topicId: number | null) => void): void
  /** Tells other processes that the topic may have new messages. Never fails. */
  hint(topicId: number): void
  /**
   * Calls `tell` once when the namespace no longer exists: dropped, created again, or its file removed or replaced.
   * From then on every call rejects with that NamespaceGoneError, and nothing is read or written.
   */
  onGone(tell: (error: NamespaceGoneError) => void): void
  /** Removes every topic and message of the namespace. The store can't be used afterwards. */
  dropNamespace(): Promise<void>
  /** Closes the store. What still runs after this many milliseconds is aborted, if the engine can. */
  close(withinMs?: number): Promise<void>
}

/** The concepts of a store, one object each. */
export type StoreConcepts = {
  /** Topics and their configuration. */
  readonly topics: Topics
  /** Messages. */
  readonly log: Log
  /** Subscriptions of groups. */
  readonly subscriptions: Subscriptions
  /** Heartbeats of groups and consumers. */
  readonly heartbeats: Heartbeats
  /** Leases, settlements and retries. */
  readonly leases: Leases
  /** Dead letters. */
  readonly deadLetters: DeadLetters
  /** Reference tracking. */
  readonly tracking: ReferenceTracking
  /** Backfills. */
  readonly backfills: Backfills
  /** Locks of the maintenance jobs. */
  readonly jobs: Jobs
  /** Figures for operators and metrics. */
  readonly inspection: Inspection
}
