import type { BackfillProgress } from './admin/backfill-progress.ts'
import * as backfills from './admin/backfills.ts'
import { type BrowsedPage, type BrowseOptions, browse } from './admin/browse.ts'
import type { ByteOptions } from './admin/byte-options.ts'
import type { ClaimsOptions, ClaimsPage, ReleasedClaim } from './admin/claims.ts'
import * as claims from './admin/claims.ts'
import { type ConsumerHealth, consumers } from './admin/consumers.ts'
import type { DeadLetterFilter, DeadLetterMessage, DeadLetterOptions, DeadLetterPage } from './admin/dead-letters.ts'
import * as letters from './admin/dead-letters.ts'
import type { GroupHealth } from './admin/group-health.ts'
import * as groups from './admin/groups.ts'
import { type Health, type HealthOptions, health } from './admin/health.ts'
import { type RetryOptions, type RetryPage, retries, retryPage, type WaitingRetry } from './admin/retries.ts'
import { findTopic } from './admin/scope.ts'
import { type Stats, type StatsOptions, StatsReader } from './admin/stats.ts'
import type { StoredMessage } from './admin/stored-message.ts'
import { type TailOptions, tail } from './admin/tail.ts'
import { deleteTopic, type TopicSummary, topics } from './admin/topics.ts'
import * as tracking from './admin/tracking.ts'
import type { BackfillOptions } from './backfill/backfill-plan.ts'
import type { Engine } from './consume/engine.ts'
import type { From } from './consume/start-position.ts'
import type { Duration } from './duration.ts'
import { JOB_NAMES, type JobName, type JobResult } from './maintenance/job.ts'
import type { Redriven } from './stores/dead-letters.ts'
import type { StoredSize, TopicDescription } from './stores/inspection.ts'
import type { Resurrected } from './stores/subscription-record.ts'
import { parseTopicOptions, type TopicConfig, type TopicOptions, type Tracking } from './topic-config.ts'

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
  readonly #engine: Engine
  readonly #watching: () => Engine
  readonly #stats: StatsReader

  /** `watching`: the engine, told of what other processes publish. */
  constructor(engine: Engine, watching: () => Engine) {
    this.#engine = engine
    this.#watching = watching
    this.#stats = new StatsReader(engine)
  }

  // ── topics ──

  /**
   * List topics with their settings.
   *
   * @example
   * for (const { topic, config } of await tm.admin.topics()) console.log(topic, config.semantics)
   */
  async topics(): Promise<TopicSummary[]> {
    return await topics(this.#engine)
  }

  /** The maintenance jobs. `tm.admin.jobs['dead-groups'].runOnce()` runs one now. */
  readonly jobs = Object.fromEntries(
    JOB_NAMES.map(name => [name, { runOnce: () => this.#engine.maintenance.runOnce(name) }]),
  ) as JobVerbs

  /**
   * Describe a topic and the position of each group. Cheap: it does not scan the log.
   *
   * @example
   * const { messagesPublished, groups } = await tm.admin.describeTopic('orders')
   */
  async describeTopic(topic: string): Promise<TopicDescription> {
    return await this.#engine.store.inspection.describe(await findTopic(this.#engine, topic))
  }

  /**
   * Create a topic, or change the given settings of an existing one.
   *
   * @example
   * await tm.admin.configureTopic('orders', { retention: '7d' })
   */
  async configureTopic(topic: string, options?: TopicOptions): Promise<TopicConfig> {
    this.#engine.assertOpen()
    return (await this.#engine.topics.configure(topic, parseTopicOptions(options))).config
  }

  /**
   * Delete a topic with all its messages. Its groups stop in every process with `SubscriptionGoneError`.
   *
   * @example
   * await tm.admin.deleteTopic('orders')
   */
  async deleteTopic(topic: string): Promise<void> {
    await deleteTopic(this.#engine, topic)
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
    await tracking.setTracking(this.#engine, topic, to, options)
  }

  // ── groups ──

  /**
   * List the groups of a topic with health, lag and counts. Cheap: it does not scan the log.
   *
   * @example
   * for (const { group, status, lagMessages } of await tm.admin.groups('orders')) console.log(group, status, lagMessages)
   */
  async groups(topic: string): Promise<GroupHealth[]> {
    return await groups.groups(this.#engine, topic)
  }

  /**
   * List the consumers of a group, or of all groups, in every process.
   *
   * @example
   * for (const { consumer, processed } of await tm.admin.consumers('orders', { group: 'email' })) console.log(consumer, processed)
   */
  async consumers(topic: string, options?: { group?: string }): Promise<ConsumerHealth[]> {
    return await consumers(this.#engine, topic, options)
  }

  /**
   * List the messages that wait for redelivery to a group, by id, one page at a time.
   *
   * @example
   * for (const { id, dueAt, error } of await tm.admin.retries('orders', { group: 'email' })) console.log(id, dueAt, error)
   */
  async retries(topic: string, options?: RetryOptions): Promise<WaitingRetry[]> {
    return await retries(this.#engine, topic, options)
  }

  /**
   * Like `retries`, with a limit in bytes (`maxBytes`) and the position of the next page.
   *
   * @example
   * const { retries, next } = await tm.admin.retryPage('orders', { group: 'email', maxBytes: 1_000_000 })
   */
  async retryPage(topic: string, options?: RetryOptions & Pick<ByteOptions, 'maxBytes'>): Promise<RetryPage> {
    return await retryPage(this.#engine, topic, options)
  }

  /**
   * Pause a group in every process until it is resumed. Its messages are kept.
   *
   * @example
   * await tm.admin.pauseGroup('orders', 'email')
   */
  async pauseGroup(topic: string, group: string): Promise<void> {
    await groups.setStatus(this.#engine, topic, group, 'PAUSED')
  }

  /**
   * Resume a paused group.
   *
   * @example
   * await tm.admin.resumeGroup('orders', 'email')
   */
  async resumeGroup(topic: string, group: string): Promise<void> {
    await groups.setStatus(this.#engine, topic, group, 'ACTIVE')
  }

  /**
   * Cancel a group permanently: its consumers stop, and messages are no longer kept for it.
   *
   * @example
   * await tm.admin.cancelGroup('orders', 'email')
   */
  async cancelGroup(topic: string, group: string): Promise<void> {
    await groups.setStatus(this.#engine, topic, group, 'CANCELLED')
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
    return await groups.resurrect(this.#engine, topic, group, options)
  }

  /**
   * Acknowledge the messages that a group has lost, so that health no longer reports them. Returns their number.
   *
   * @example
   * const { acknowledged } = await tm.admin.acknowledgeLoss('orders', 'email')
   */
  async acknowledgeLoss(topic: string, group: string): Promise<{ readonly acknowledged: number }> {
    return await groups.acknowledgeLoss(this.#engine, topic, group)
  }

  /**
   * Move a group to a position, backward or forward. Its claims are released, and later settlements of them are stale.
   *
   * @example
   * await tm.admin.resetGroup('orders', 'email', { timestamp: new Date('2026-05-01') })
   */
  async resetGroup(topic: string, group: string, to: From, options?: { backfill?: BackfillOptions }): Promise<void> {
    await groups.reset(this.#engine, topic, group, to, options)
  }

  /**
   * Cancel a group, wait for its messages in flight (default 10 s), and delete it. Its dead letters are kept.
   *
   * @example
   * const { abandoned } = await tm.admin.removeGroup('orders', 'email', { timeout: '30s' })
   */
  async removeGroup(topic: string, group: string, options?: { timeout?: Duration }): Promise<groups.Removed> {
    return await groups.remove(this.#engine, topic, group, options)
  }

  /**
   * Reference topics only: complete messages older than this that wait only for groups that are not live. Returns
   * their number.
   *
   * @example
   * const completed = await tm.admin.completeOrphans('orders', { olderThan: '24h' })
   */
  async completeOrphans(topic: string, options: { olderThan: Duration }): Promise<number> {
    return await tracking.completeOrphans(this.#engine, topic, options)
  }

  /**
   * Reference topics only: list which groups must process a message, and which have.
   *
   * @example
   * const waiting = await tm.admin.completion('orders', { unfinished: true })
   */
  async completion(topic: string, options?: tracking.CompletionOptions): Promise<tracking.Completion[]> {
    return await tracking.completion(this.#engine, topic, options)
  }

  // ── claims ──

  /**
   * List claims with their consumer, messages, start and expiry, oldest first, one page at a time.
   *
   * @example
   * const { claims, next } = await tm.admin.claims('orders', { group: 'email' })
   */
  async claims(topic: string, options?: ClaimsOptions): Promise<ClaimsPage> {
    return await claims.claims(this.#engine, topic, options)
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
    return await claims.releaseClaim(this.#engine, topic, id)
  }

  // ── messages ──

  /**
   * Return a page of retained messages by position, time, key and type, without consuming them.
   *
   * @example
   * const { messages, next } = await tm.admin.browse('orders', { key: 'customer-3', order: 'newest-first' })
   */
  async browse(topic: string, options?: BrowseOptions): Promise<BrowsedPage> {
    return await browse(this.#engine, topic, options)
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
    return await letters.deadLetters(this.#engine, topic, options)
  }

  /**
   * Like `deadLetters`, with limits in bytes (`maxBytes`, `maxPayloadBytes`) and the position of the next page.
   *
   * @example
   * const { deadLetters, next } = await tm.admin.deadLetterPage('orders', { maxBytes: 1_000_000 })
   */
  async deadLetterPage(topic: string, options?: DeadLetterOptions & ByteOptions): Promise<DeadLetterPage> {
    return await letters.deadLetterPage(this.#engine, topic, options)
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
    return await letters.deadLetter(this.#engine, topic, id, options)
  }

  /**
   * Redeliver dead letters with a full set of attempts. Dead letters whose message is no longer in the log are kept
   * and counted.
   *
   * @example
   * const { redriven, gone } = await tm.admin.redrive('orders', { group: 'email', errorName: 'SmtpError' })
   */
  async redrive(topic: string, filter: DeadLetterFilter): Promise<Redriven> {
    return await letters.redrive(this.#engine, topic, filter)
  }

  /**
   * Delete dead letters permanently. Returns their number.
   *
   * @example
   * const discarded = await tm.admin.discard('orders', { ids: [17, 18] })
   */
  async discard(topic: string, filter: DeadLetterFilter): Promise<number> {
    return await letters.discard(this.#engine, topic, filter)
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
    return await backfills.start(this.#engine, topic, group, options)
  }

  /**
   * Return the progress of the last backfill of a group, or undefined.
   *
   * @example
   * const progress = await tm.admin.backfill('orders', 'audit')
   */
  async backfill(topic: string, group: string): Promise<BackfillProgress | undefined> {
    return await backfills.progress(this.#engine, topic, group)
  }

  /**
   * Cancel a backfill. Messages delivered so far remain.
   *
   * @example
   * await tm.admin.cancelBackfill('orders', 'audit')
   */
  async cancelBackfill(topic: string, group: string): Promise<BackfillProgress> {
    return await backfills.cancel(this.#engine, topic, group)
  }

  /**
   * Resume a cancelled or failed backfill at its checkpoint.
   *
   * @example
   * await tm.admin.resumeBackfill('orders', 'audit')
   */
  async resumeBackfill(topic: string, group: string): Promise<BackfillProgress> {
    return await backfills.resume(this.#engine, topic, group)
  }

  // ── health ──

  /**
   * Return the size of the namespace on disk. Cheap: it does not read messages.
   *
   * @example
   * const { bytes } = await tm.admin.size()
   */
  async size(): Promise<StoredSize> {
    this.#engine.assertOpen()
    return await this.#engine.store.inspection.size()
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
    return await health(this.#engine, options)
  }
}
