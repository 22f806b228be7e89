import type { BackfillOptions } from '../backfill/backfill-plan.ts'
import type { From } from '../consume/start-position.ts'
import type { Duration } from '../options/duration.ts'
import type { Runtime } from '../runtime.ts'
import type { Resurrected } from '../stores/subscription-record.ts'
import type { ByteOptions } from './byte-options.ts'
import { type ConsumerHealth, consumers } from './consumers.ts'
import type { GroupHealth } from './group-health.ts'
import { acknowledgeLoss, groups, type Removed, remove, reset, resurrect, setStatus } from './groups.ts'
import { type GroupMember, members } from './members.ts'
import { previewReset, type ResetPreview } from './previews.ts'
import { type RetryOptions, type RetryPage, retries, retryPage, type WaitingRetry } from './retries.ts'
import { type Completion, type CompletionOptions, completeOrphans, completion } from './tracking.ts'

/** The part of `tm.admin` for consumer groups. */
export type GroupAdmin<Name extends string = string> = {
  /**
   * List the groups of a topic with health, lag and counts. Cheap: it does not scan the log.
   *
   * @example
   * for (const { group, status, lagMessages } of await tm.admin.groups('orders')) console.log(group, status, lagMessages)
   */
  groups(topic: Name): Promise<GroupHealth[]>
  /**
   * List the consumers of a group, or of all groups, in every process.
   *
   * @example
   * for (const { consumer, processed } of await tm.admin.consumers('orders', { group: 'email' })) console.log(consumer, processed)
   */
  consumers(topic: Name, options?: { group?: string }): Promise<ConsumerHealth[]>
  /**
   * List the processes that consume for a group, and the HTTP clients that hold messages of it.
   *
   * @example
   * for (const { consumer, host, pid, inFlight } of await tm.admin.members('orders', 'email')) console.log(consumer, host, pid, inFlight)
   */
  members(topic: Name, group: string): Promise<GroupMember[]>
  /**
   * List the messages that wait for redelivery to a group, by id, one page at a time.
   *
   * @example
   * for (const { id, dueAt, error } of await tm.admin.retries('orders', { group: 'email' })) console.log(id, dueAt, error)
   */
  retries(topic: Name, options?: RetryOptions): Promise<WaitingRetry[]>
  /**
   * Like `retries`, with a limit in bytes (`maxBytes`) and the position of the next page.
   *
   * @example
   * const { retries, next } = await tm.admin.retryPage('orders', { group: 'email', maxBytes: 1_000_000 })
   */
  retryPage(topic: Name, options?: RetryOptions & Pick<ByteOptions, 'maxBytes'>): Promise<RetryPage>
  /**
   * Pause a group in every process until it is resumed. Its messages are kept.
   *
   * @example
   * await tm.admin.pauseGroup('orders', 'email')
   */
  pauseGroup(topic: Name, group: string): Promise<void>
  /**
   * Resume a paused group.
   *
   * @example
   * await tm.admin.resumeGroup('orders', 'email')
   */
  resumeGroup(topic: Name, group: string): Promise<void>
  /**
   * Cancel a group permanently: its consumers stop, and messages are no longer kept for it.
   *
   * @example
   * await tm.admin.cancelGroup('orders', 'email')
   */
  cancelGroup(topic: Name, group: string): Promise<void>
  /**
   * Reactivate a dead group where it stopped, limited by `backfill`, or at the newest message with `backfill: false`.
   *
   * @example
   * await tm.admin.resurrectGroup('orders', 'email', { backfill: { maxMessages: 10_000 } })
   */
  resurrectGroup(topic: Name, group: string, options?: { backfill?: BackfillOptions | false }): Promise<Resurrected>
  /**
   * Acknowledge the messages that a group has lost, so that health no longer reports them. Returns their number.
   *
   * @example
   * const { acknowledged } = await tm.admin.acknowledgeLoss('orders', 'email')
   */
  acknowledgeLoss(topic: Name, group: string): Promise<{ readonly acknowledged: number }>
  /**
   * Move a group to a position, backward or forward. Its claims are released, and later settlements of them are stale.
   *
   * @example
   * await tm.admin.resetGroup('orders', 'email', { timestamp: new Date('2026-05-01') })
   */
  resetGroup(topic: Name, group: string, to: From, options?: { backfill?: BackfillOptions }): Promise<void>
  /**
   * Show what `resetGroup` would do, in numbers, without doing it.
   *
   * @example
   * const { direction, messages, waiting } = await tm.admin.previewReset('orders', 'email', 'beginning')
   */
  previewReset(topic: Name, group: string, to: From): Promise<ResetPreview>
  /**
   * Cancel a group, wait for its messages in flight (default 10 s), and delete it. Its dead letters are kept.
   *
   * @example
   * const { abandoned } = await tm.admin.removeGroup('orders', 'email', { timeout: '30s' })
   */
  removeGroup(topic: Name, group: string, options?: { timeout?: Duration }): Promise<Removed>
  /**
   * Reference topics only: complete messages older than this that wait only for groups that are not live. Returns
   * their number.
   *
   * @example
   * const completed = await tm.admin.completeOrphans('orders', { olderThan: '24h' })
   */
  completeOrphans(topic: Name, options: { olderThan: Duration }): Promise<number>
  /**
   * Reference topics only: list which groups must process a message, and which have.
   *
   * @example
   * const waiting = await tm.admin.completion('orders', { unfinished: true })
   */
  completion(topic: Name, options?: CompletionOptions): Promise<Completion[]>
}

export const groupAdmin = (runtime: Runtime): GroupAdmin => ({
  groups: topic => groups(runtime, topic),
  consumers: (topic, options) => consumers(runtime, topic, options),
  members: (topic, group) => members(runtime, topic, group),
  retries: (topic, options) => retries(runtime, topic, options),
  retryPage: (topic, options) => retryPage(runtime, topic, options),
  pauseGroup: (topic, group) => setStatus(runtime, topic, group, 'PAUSED'),
  resumeGroup: (topic, group) => setStatus(runtime, topic, group, 'ACTIVE'),
  cancelGroup: (topic, group) => setStatus(runtime, topic, group, 'CANCELLED'),
  resurrectGroup: (topic, group, options) => resurrect(runtime, topic, group, options),
  acknowledgeLoss: (topic, group) => acknowledgeLoss(runtime, topic, group),
  resetGroup: (topic, group, to, options) => reset(runtime, topic, group, to, options),
  previewReset: (topic, group, to) => previewReset(runtime, topic, group, to),
  removeGroup: (topic, group, options) => remove(runtime, topic, group, options),
  completeOrphans: (topic, options) => completeOrphans(runtime, topic, options),
  completion: (topic, options) => completion(runtime, topic, options),
})
