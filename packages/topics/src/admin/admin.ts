import type { BackfillOptions } from '../backfill/backfill-plan.ts'
import type { From } from '../consume/start-position.ts'
import { JOB_NAMES, type JobName, type JobResult } from '../maintenance/job.ts'
import type { Duration } from '../options/duration.ts'
import type { Runtime } from '../runtime.ts'
import type { Redriven } from '../stores/dead-letters.ts'
import type { StoredSize, TopicDescription } from '../stores/inspection.ts'
import type { Resurrected } from '../stores/subscription-record.ts'
import { parseTopicOptions, type TopicConfig, type TopicOptions, type Tracking } from '../topic-config.ts'
import type { BackfillProgress } from './backfill-progress.ts'
import * as backfills from './backfills.ts'
import { type BrowsedPage, type BrowseOptions, browse } from './browse.ts'
import type { ByteOptions } from './byte-options.ts'
import type { ClaimsOptions, ClaimsPage, ReleasedClaim } from './claims.ts'
import * as claims from './claims.ts'
import { type ConsumerHealth, consumers } from './consumers.ts'
import type { DeadLetterFilter, DeadLetterMessage, DeadLetterOptions, DeadLetterPage } from './dead-letters.ts'
import * as letters from './dead-letters.ts'
import type { GroupHealth } from './group-health.ts'
import * as groups from './groups.ts'
import { type Health, type HealthOptions, health } from './health.ts'
import { type RetryOptions, type RetryPage, retries, retryPage, type WaitingRetry } from './retries.ts'
import { findTopic } from './scope.ts'
import { type Stats, type StatsOptions, StatsReader } from './stats.ts'
import type { StoredMessage } from './stored-message.ts'
import { type TailOptions, tail } from './tail.ts'
import { deleteTopic, type TopicSummary, topics } from './topics.ts'
import * as tracking from './tracking.ts'

/** The maintenance jobs by name. */
export type JobVerbs = {
  readonly [name in JobName]: {
    /** What it did, by name; rejects with JobBusyError while another process runs it. */
    runOnce(): Promise<JobResult>
  }
}

/**
 * Operations for administrators. They show topics without consuming from them, and change groups, claims and dead
 * letters.
 */
export class Admin {
  readonly #runtime: Runtime
  readonly #watching: () => Runtime
  readonly #stats: StatsReader

  /** `watching`: the runtime, told of what other processes publish. */
  constructor(runtime: Runtime, watching: () => Runtime) {
    this.#runtime = runtime
    this.#watching = watching
    this.#stats = new StatsReader(runtime)
  }

  // ── topics ──

  /**
   * List topics with their settings.
   *
   * @example
   * for (const { topic, config } of await tm.admin.topics()) console.log(topic, config.semantics)
   */
  async topics(): Promise<TopicSummary[]> {
    return await topics(this.#runtime)
  }

  /** The maintenance jobs. `tm.admin.jobs['dead-groups'].runOnce()` runs one now. */
  readonly jobs = Object.fromEntries(
    JOB_NAMES.map(name => [name, { runOnce: () => this.#runtime.maintenance.runOnce(name) }]),
  ) as JobVerbs

  /**
   * Describe a topic and the position of each group. Cheap: it does not scan the log.
   *
   * @example
   * const { messagesPublished, groups } = await tm.admin.describeTopic('orders')
   */
  async describeTopic(topic: string): Promise<TopicDescription> {
    return await this.#runtime.store.inspection.describe(await findTopic(this.#runtime, topic))
  }

  /**
   * Create a topic, or change the given settings of an existing one.
   *
   * @example
   * await tm.admin.configureTopic('orders', { retention: '7d' })
   */
  async configureTopic(topic: string, options?: TopicOptions): Promise<TopicConfig> {
    this.#runtime.assertOpen()
    return (await this.#runtime.topics.configure(topic, parseTopicOptions(options))).config
  }

  /**
   * Delete a topic with all its messages. Its groups stop in every process with `SubscriptionGoneError`.
   *
   * @example
   * await tm.admin.deleteTopic('orders')
   */
  async deleteTopic(topic: string): Promise<void> {
    await deleteTopic(this.#runtime, topic)
  }

  /**
   * Change the tracking mode while groups keep running. Resolves when all retained messages are tracked in the new
   * mode.
   *
   * @example
   * await tm.admin.setTracking('orders', 'reference')
   */
  async setTracking(
    topic: string,
    to: Tracking,
    options?: { onProgress?: (progress: { readonly pages: number }) => void },
  ): Promise<void> {
    await tracking.setTracking(this.#runtime, topic, to, options)
  }

  // ── groups ──

  /**
   * List the groups of a topic with health, lag and counts. Cheap: it does not scan the log.
   *
   * @example
   * for (const { group, status, lagMessages } of await tm.admin.groups('orders')) console.log(group, status, lagMessages)
   */
  async groups(topic: string): Promise<GroupHealth[]> {
    return await groups.groups(this.#runtime, topic)
  }

  /**
   * List the consumers of a group, or of all groups, in every process.
   *
   * @example
   * for (const { consumer, processed } of await tm.admin.consumers('orders', { group: 'email' })) console.log(consumer, processed)
   */
  async consumers(topic: string, options?: { group?: string }): Promise<ConsumerHealth[]> {
    return await consumers(this.#runtime, topic, options)
  }

  /**
   * List the messages that wait for redelivery to a group, by id, one page at a time.
   *
   * @example
   * for (const { id, dueAt, error } of await tm.admin.retries('orders', { group: 'email' })) console.log(id, dueAt, error)
   */
  async retries(topic: string, options?: RetryOptions): Promise<WaitingRetry[]> {
    return await retries(this.#runtime, topic, options)
  }

  /**
   * Like `retries`, with a limit in bytes (`maxBytes`) and the position of the next page.
   *
   * @example
   * const { retries, next } = await tm.admin.retryPage('orders', { group: 'email', maxBytes: 1_000_000 })
   */
  async retryPage(topic: string, options?: RetryOptions & Pick<ByteOptions, 'maxBytes'>): Promise<RetryPage> {
    return await retryPage(this.#runtime, topic, options)
  }

  /**
   * Pause a group in every process until it is resumed. Its messages are kept.
   *
   * @example
   * await tm.admin.pauseGroup('orders', 'email')
   */
  async pauseGroup(topic: string, group: string): Promise<void> {
    await groups.setStatus(this.#runtime, topic, group, 'PAUSED')
  }

  /**
   * Resume a paused group.
   *
   * @example
   * await tm.admin.resumeGroup('orders', 'email')
   */
  async resumeGroup(topic: string, group: string): Promise<void> {
    await groups.setStatus(this.#runtime, topic, group, 'ACTIVE')
  }

  /**
   * Cancel a group permanently: its consumers stop, and messages are no longer kept for it.
   *
   * @example
   * await tm.admin.cancelGroup('orders', 'email')
   */
  async cancelGroup(topic: string, group: string): Promise<void> {
    await groups.setStatus(this.#runtime, topic, group, 'CANCELLED')
  }

  /**
   * Reactivate a dead group where it stopped, limited by `backfill`, or at the newest message with `backfill: false`.
   *
   * @example
   * await tm.admin.resurrectGroup('orders', 'email', { backfill: { maxMessages: 10_000 } })
   */
  async resurrectGroup(
    topic: string,
    group: string,
    options?: { backfill?: BackfillOptions | false },
  ): Promise<Resurrected> {
    return await groups.resurrect(this.#runtime, topic, group, options)
  }

  /**
   * Acknowledge the messages that a group has lost, so that health no longer reports them. Returns their number.
   *
   * @example
   * const { acknowledged } = await tm.admin.acknowledgeLoss('orders', 'email')
   */
  async acknowledgeLoss(topic: string, group: string): Promise<{ readonly acknowledged: number }> {
    return await groups.acknowledgeLoss(this.#runtime, topic, group)
  }

  /**
   * Move a group to a position, backward or forward. Its claims are released, and later settlements of them are stale.
   *
   * @example
   * await tm.admin.resetGroup('orders', 'email', { timestamp: new Date('2026-05-01') })
   */
  async resetGroup(topic: string, group: string, to: From, options?: { backfill?: BackfillOptions }): Promise<void> {
    await groups.reset(this.#runtime, topic, group, to, options)
  }

  /**
   * Cancel a group, wait for its messages in flight (default 10 s), and delete it. Its dead letters are kept.
   *
   * @example
   * const { abandoned } = await tm.admin.removeGroup('orders', 'email', { timeout: '30s' })
   */
  async removeGroup(topic: string, group: string, options?: { timeout?: Duration }): Promise<groups.Removed> {
    return await groups.remove(this.#runtime, topic, group, options)
  }

  /**
   * Reference topics only: complete messages older than this that wait only for groups that are not live. Returns
   * their number.
   *
   * @example
   * const completed = await tm.admin.completeOrphans('orders', { olderThan: '24h' })
   */
  async completeOrphans(topic: string, options: { olderThan: Duration }): Promise<number> {
    return await tracking.completeOrphans(this.#runtime, topic, options)
  }

  /**
   * Reference topics only: list which groups must process a message, and which have.
   *
   * @example
   * const waiting = await tm.admin.completion('orders', { unfinished: true })
   */
  async completion(topic: string, options?: tracking.CompletionOptions): Promise<tracking.Completion[]> {
    return await tracking.completion(this.#runtime, topic, options)
  }

  // ── claims ──

  /**
   * List claims with their consumer, messages, start and expiry, oldest first, one page at a time.
   *
   * @example
   * const { claims, next } = await tm.admin.claims('orders', { group: 'email' })
   */
  async claims(topic: string, options?: ClaimsOptions): Promise<ClaimsPage> {
    return await claims.claims(this.#runtime, topic, options)
  }

  /**
   * Release a claim at once, even one that never expires. The attempt counts, and later settlements of its holder are
   * stale.
   *
   * @example
   * const { claims } = await tm.admin.claims('orders')
   * for (const { id } of claims) await tm.admin.releaseClaim('orders', id)
   */
  async releaseClaim(topic: string, id: string): Promise<ReleasedClaim> {
    return await claims.releaseClaim(this.#runtime, topic, id)
  }

  // ── messages ──

  /**
   * Return a page of retained messages by position, time, key and type, without consuming them.
   *
   * @example
   * const { messages, next } = await tm.admin.browse('orders', { key: 'customer-3', order: 'newest-first' })
   */
  async browse(topic: string, options?: BrowseOptions): Promise<BrowsedPage> {
    return await browse(this.#runtime, topic, options)
  }

  /**
   * Return messages as they are published, without consuming them.
   *
   * @example
   * for await (const message of await tm.admin.tail('orders')) console.log(message.messageId)
   */
  async tail(topic: string, options?: TailOptions): Promise<AsyncGenerator<StoredMessage, void, undefined>> {
    return await tail(this.#watching(), topic, options)
  }

  // ── dead letters ──

  /**
   * List dead letters, oldest first, one page at a time.
   *
   * @example
   * const letters = await tm.admin.deadLetters('orders', { group: 'email', limit: 10 })
   */
  async deadLetters(topic: string, options?: DeadLetterOptions): Promise<DeadLetterMessage[]> {
    return await letters.deadLetters(this.#runtime, topic, options)
  }

  /**
   * Like `deadLetters`, with limits in bytes (`maxBytes`, `maxPayloadBytes`) and the position of the next page.
   *
   * @example
   * const { deadLetters, next } = await tm.admin.deadLetterPage('orders', { maxBytes: 1_000_000 })
   */
  async deadLetterPage(topic: string, options?: DeadLetterOptions & ByteOptions): Promise<DeadLetterPage> {
    return await letters.deadLetterPage(this.#runtime, topic, options)
  }

  /**
   * Return a dead letter by its id, or undefined.
   *
   * @example
   * const letter = await tm.admin.deadLetter('orders', 17)
   */
  async deadLetter(
    topic: string,
    id: number,
    options?: Pick<ByteOptions, 'maxPayloadBytes'>,
  ): Promise<DeadLetterMessage | undefined> {
    return await letters.deadLetter(this.#runtime, topic, id, options)
  }

  /**
   * Redeliver dead letters with a full set of attempts. Dead letters whose message is no longer in the log are kept
   * and counted.
   *
   * @example
   * const { redriven, gone } = await tm.admin.redrive('orders', { group: 'email', errorName: 'SmtpError' })
   */
  async redrive(topic: string, filter: DeadLetterFilter): Promise<Redriven> {
    return await letters.redrive(this.#runtime, topic, filter)
  }

  /**
   * Delete dead letters permanently. Returns their number.
   *
   * @example
   * const discarded = await tm.admin.discard('orders', { ids: [17, 18] })
   */
  async discard(topic: string, filter: DeadLetterFilter): Promise<number> {
    return await letters.discard(this.#runtime, topic, filter)
  }

  // ── backfills ──

  /**
   * Deliver earlier messages of a reference topic to a group, from a position up to now.
   *
   * @example
   * await tm.admin.startBackfill('orders', 'audit', { from: 'beginning', maxPerSecond: 5_000 })
   */
  async startBackfill(
    topic: string,
    group: string,
    options?: BackfillOptions & { from?: From },
  ): Promise<BackfillProgress> {
    return await backfills.start(this.#runtime, topic, group, options)
  }

  /**
   * Return the progress of the last backfill of a group, or undefined.
   *
   * @example
   * const progress = await tm.admin.backfill('orders', 'audit')
   */
  async backfill(topic: string, group: string): Promise<BackfillProgress | undefined> {
    return await backfills.progress(this.#runtime, topic, group)
  }

  /**
   * Cancel a backfill. Messages delivered so far remain.
   *
   * @example
   * await tm.admin.cancelBackfill('orders', 'audit')
   */
  async cancelBackfill(topic: string, group: string): Promise<BackfillProgress> {
    return await backfills.cancel(this.#runtime, topic, group)
  }

  /**
   * Resume a cancelled or failed backfill at its checkpoint.
   *
   * @example
   * await tm.admin.resumeBackfill('orders', 'audit')
   */
  async resumeBackfill(topic: string, group: string): Promise<BackfillProgress> {
    return await backfills.resume(this.#runtime, topic, group)
  }

  // ── health ──

  /**
   * Return the size of the namespace on disk. Cheap: it does not read messages.
   *
   * @example
   * const { bytes } = await tm.admin.size()
   */
  async size(): Promise<StoredSize> {
    this.#runtime.assertOpen()
    return await this.#runtime.store.inspection.size()
  }

  /**
   * Return all topics, groups and jobs, for dashboards and monitoring. The database is read at most every 15 s
   * (`maxAge`).
   *
   * @example
   * const { topics, jobs } = await tm.admin.stats({ maxAge: '30s' })
   */
  async stats(options?: StatsOptions): Promise<Stats> {
    return await this.#stats.read(options)
  }

  /**
   * Return everything that needs attention in all topics. Safe to poll.
   *
   * @example
   * const { healthy, dead, stuck } = await tm.admin.health()
   */
  async health(options?: HealthOptions): Promise<Health> {
    return await health(this.#runtime, options)
  }
}
