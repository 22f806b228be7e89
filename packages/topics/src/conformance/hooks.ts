import type { TransactionHandle } from '../index.ts'
import type { SubscriptionStatus } from '../stores/subscription-record.ts'

/**
 * What only time, a fault or another program can do to a database, and no caller through the API. An engine implements
 * these for its tests, with its own tools: an SQL statement, an edited document, a clock that it moves.
 *
 * Each hook is optional. A test that needs a missing one is skipped, and names it.
 */
export type ConformanceHooks = {
  /** Ends the term of live leases: all, those of a subscription, or one. Leases without a term stay. */
  expireLeases(of?: { readonly subscription?: number; readonly token?: string }): Promise<void>
  /** Moves the due time of waiting retries into the past, before the end of every term that `expireLeases` ends. */
  makeRetriesDue(of?: {
    readonly subscription?: number
    /** Only those that are due already: then all are due at the same time. */
    readonly onlyDue?: boolean
  }): Promise<void>
  /** Moves heartbeats, misses, changes of status and the last progress of every group, or of one, back in time. */
  ageGroups(ms: number, group?: string): Promise<void>
  /** Moves the time of publication of a topic's messages back. */
  ageMessages(topic: string, ms: number): Promise<void>
  /** Moves the creation of every topic back. */
  ageTopics(ms: number): Promise<void>
  /** Moves the runs of every maintenance job and the ends of their locks back. */
  ageJobs(ms: number): Promise<void>
  /** Moves the time at which each messageId given by a caller was stored back. */
  ageMessageIds(ms: number): Promise<void>
  /** Ends the lease of every running backfill, as if its process had died long ago. */
  orphanBackfills(): Promise<void>
  /** Sets the status of a group, and changes nothing else that comes with that status. */
  setStatus(group: string, status: SubscriptionStatus): Promise<void>
  /** Removes every group, as another program would. */
  removeGroups(): Promise<void>
  /** Removes every lease without a trace, as a restore of an older copy would; `closed`: only those that have ended. */
  forgetLeases(of?: { readonly subscription?: number; readonly closed?: boolean }): Promise<void>
  /** Removes the messages below an id from the first topic, as clean-up would. `partitionRows` of the topic is that id. */
  removeMessagesBelow(id: number): Promise<void>
  /** Removes the messages after an id from the first topic, and lets the next publish draw their ids again. */
  loseMessagesAfter(id: number): Promise<void>
  /** Moves every cursor ahead by so many ids, as if the log had lost its newest messages and the groups had not. */
  moveCursors(ids: number): Promise<void>
  /** Gives the topics or the groups another identity, as if others had been created with the same ids. */
  replaceIdentity(of: 'topics' | 'groups'): Promise<void>
  /** Everything that is stored, to find out that a call changed nothing. */
  contents(): Promise<unknown>
  /** Holds what every claim needs, as the long transaction of another process would. */
  lock(): Promise<ConformanceLock>
  /** Makes one kind of call fail until it is mended. */
  breakDown(what: 'publish' | 'claim' | 'settle' | 'heartbeat'): Promise<ConformanceFault>
  /** Begins a transaction that `publish` takes as `tx`. */
  begin(): Promise<ConformanceTransaction>
}

/** A lock that a test holds. Disposing of it releases the lock. */
export type ConformanceLock = AsyncDisposable & {
  /** Whether somebody is known to wait for it. An engine that can't tell answers false; `metrics().pool` may know. */
  isWaitedFor(): Promise<boolean>
}

/** A fault that a test has made. Disposing of it mends it too. */
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
