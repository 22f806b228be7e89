import type { TransactionHandle } from '../index.ts'
import type { SubscriptionStatus } from '../stores/subscription-record.ts'

/**
 * Changes to a database that only time, a fault or another program can make, and no caller through the API. An engine
 * implements these for its tests, with its own tools: an SQL statement, an edited document, a clock that it moves.
 *
 * Each hook is optional. A test that needs a missing one is skipped, and names it.
 */
export type ConformanceHooks = {
  /** Expires live leases: all, those of a subscription, or one. Leases without a deadline stay. */
  expireLeases(of?: { readonly subscription?: number; readonly token?: string }): Promise<void>
  /** Moves the due time of waiting retries into the past, before every deadline that `expireLeases` sets. */
  makeRetriesDue(of?: {
    readonly subscription?: number
    /** Only retries that are already due: then all are due at the same time. */
    readonly onlyDue?: boolean
  }): Promise<void>
  /** Moves heartbeats, misses, status changes and the last progress of every group, or of one, back in time. */
  ageGroups(ms: number, group?: string): Promise<void>
  /** Moves the publish time of a topic's messages back. */
  ageMessages(topic: string, ms: number): Promise<void>
  /** Moves the creation of every topic back. */
  ageTopics(ms: number): Promise<void>
  /** Moves the runs of every maintenance job and the expiry of their locks back. */
  ageJobs(ms: number): Promise<void>
  /** Moves the time at which caller-given messageIds were stored back. */
  ageMessageIds(ms: number): Promise<void>
  /** Expires the lease of every running backfill, as if its process had died long ago. */
  orphanBackfills(): Promise<void>
  /** Sets the status of a group, without the other changes that come with it. */
  setStatus(group: string, status: SubscriptionStatus): Promise<void>
  /** Removes every group, as another program would. */
  removeGroups(): Promise<void>
  /** Removes every lease without a trace, as restoring an older copy would; `closed`: only ended ones. */
  forgetLeases(of?: { readonly subscription?: number; readonly closed?: boolean }): Promise<void>
  /** Removes the messages below an id from the first topic, as clean-up would. `partitionRows` of the topic is that id. */
  removeMessagesBelow(id: number): Promise<void>
  /** Removes the messages after an id from the first topic, so that the next publish reuses their ids. */
  loseMessagesAfter(id: number): Promise<void>
  /** Moves every cursor ahead by this many ids, as if the log had lost its newest messages and the groups had not. */
  moveCursors(ids: number): Promise<void>
  /** Gives the topics or groups another identity, as if others had been created with the same ids. */
  replaceIdentity(of: 'topics' | 'groups'): Promise<void>
  /** Everything that is stored, to verify that a call changed nothing. */
  contents(): Promise<unknown>
  /** Holds the lock that every claim needs, as a long transaction of another process would. */
  lock(): Promise<ConformanceLock>
  /** Makes one kind of call fail until it is mended. */
  breakDown(what: 'publish' | 'claim' | 'settle' | 'heartbeat'): Promise<ConformanceFault>
  /** Begins a transaction that `publish` takes as `tx`. */
  begin(): Promise<ConformanceTransaction>
}

/** A lock that a test holds. Disposing it releases the lock. */
export type ConformanceLock = AsyncDisposable & {
  /** Whether somebody is known to wait for it. An engine that can't tell returns false; `metrics().pool` may know. */
  isWaitedFor(): Promise<boolean>
}

/** A fault that a test has caused. Disposing it mends it too. */
export type ConformanceFault = AsyncDisposable & {
  /** Lets the calls succeed again. */
  mend(): Promise<void>
}

/** An open transaction of the application. */
export type ConformanceTransaction = {
  /** What `publish` takes as `tx`. */
  readonly tx: TransactionHandle
  /** Commits it, and closes its connection. */
  commit(): Promise<void>
  /** Rolls it back, and closes its connection. */
  rollBack(): Promise<void>
}
