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

export type JobVerbs = {
  readonly [name in JobName]: {
    /** What it did, by name; rejects with JobBusyError while another process runs it. */
    runOnce(): Promise<JobResult>
  }
}

/** Looking into topics without consuming from them, and the operators' verbs. Each concept has a file in `admin/`. */
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

  async topics(): Promise<TopicSummary[]> {
    return await topics(this.#engine)
  }

  /** The maintenance jobs: `tm.admin.jobs['dead-groups'].runOnce()` runs one now. */
  readonly jobs = Object.fromEntries(
    JOB_NAMES.map(name => [name, { runOnce: () => this.#engine.maintenance.runOnce(name) }]),
  ) as JobVerbs

  /** How far each group is. Cheap: it reads positions, leases and retries, not the log. */
  async describeTopic(topic: string): Promise<TopicDescription> {
    return await this.#engine.store.inspection.describe(await findTopic(this.#engine, topic))
  }

  /** Creates the topic, or changes the settings given of one that exists. */
  async configureTopic(topic: string, options?: TopicOptions): Promise<TopicConfig> {
    this.#engine.assertOpen()
    return (await this.#engine.topics.configure(topic, parseTopicOptions(options))).config
  }

  /** With all its messages. Groups that run on it, in any process, stop with a SubscriptionGoneError. */
  async deleteTopic(topic: string): Promise<void> {
    await deleteTopic(this.#engine, topic)
  }

  /** While groups keep running. Resolves when all that is kept is tracked the new way. */
  async setTracking(
    topic: string,
    to: Tracking,
    options?: { onProgress?: (progress: { readonly pages: number }) => void },
  ): Promise<void> {
    await tracking.setTracking(this.#engine, topic, to, options)
  }

  // ── groups ──

  /** Every group with its health, lag and counts. Cheap: no scan of the log, whatever it holds. */
  async groups(topic: string): Promise<GroupHealth[]> {
    return await groups.groups(this.#engine, topic)
  }

  /** The consumers of a group, or of all groups, in every process: what they have done, how long it took, and when last. */
  async consumers(topic: string, options?: { group?: string }): Promise<ConsumerHealth[]> {
    return await consumers(this.#engine, topic, options)
  }

  /** What waits to be delivered to a group again, with its due time and errors; by message id, a page at a time. */
  async retries(topic: string, options?: RetryOptions): Promise<WaitingRetry[]> {
    return await retries(this.#engine, topic, options)
  }

  /** The same with a bound in bytes (`maxBytes`), and where the next page begins. */
  async retryPage(topic: string, options?: RetryOptions & Pick<ByteOptions, 'maxBytes'>): Promise<RetryPage> {
    return await retryPage(this.#engine, topic, options)
  }

  /** Its consumers, wherever they run, get nothing more until it is resumed. Its messages are kept meanwhile. */
  async pauseGroup(topic: string, group: string): Promise<void> {
    await groups.setStatus(this.#engine, topic, group, 'PAUSED')
  }

  async resumeGroup(topic: string, group: string): Promise<void> {
    await groups.setStatus(this.#engine, topic, group, 'ACTIVE')
  }

  /** For good: its consumers stop, and nothing is kept for it any more. */
  async cancelGroup(topic: string, group: string): Promise<void> {
    await groups.setStatus(this.#engine, topic, group, 'CANCELLED')
  }

  /** A dead group goes on where it stopped, within the bound given; with `backfill: false` at the present. */
  async resurrectGroup(
    topic: string,
    group: string,
    options?: { backfill?: BackfillOptions | false },
  ): Promise<Resurrected> {
    return await groups.resurrect(this.#engine, topic, group, options)
  }

  /** Health shows what a group has lost until this is called. Returns how many messages that was. */
  async acknowledgeLoss(topic: string, group: string): Promise<{ readonly acknowledged: number }> {
    return await groups.acknowledgeLoss(this.#engine, topic, group)
  }

  /** To a position, back or forth. What the group held is let go, and late settlements are stale. */
  async resetGroup(topic: string, group: string, to: From, options?: { backfill?: BackfillOptions }): Promise<void> {
    await groups.reset(this.#engine, topic, group, to, options)
  }

  /** Cancels it, waits for its work in flight (10 s), and deletes it. Its dead letters stay. */
  async removeGroup(topic: string, group: string, options?: { timeout?: Duration }): Promise<groups.Removed> {
    return await groups.remove(this.#engine, topic, group, options)
  }

  /** Reference topics: what waits only for groups that are not live, and is older than this, waits no longer. */
  async completeOrphans(topic: string, options: { olderThan: Duration }): Promise<number> {
    return await tracking.completeOrphans(this.#engine, topic, options)
  }

  /** Reference topics: who has to process a message, and who has. */
  async completion(topic: string, options?: tracking.CompletionOptions): Promise<tracking.Completion[]> {
    return await tracking.completion(this.#engine, topic, options)
  }

  // ── claims ──

  /** Which messages are held, by whom, since when, until when: the longest held first, a page at a time. */
  async claims(topic: string, options?: ClaimsOptions): Promise<ClaimsPage> {
    return await claims.claims(this.#engine, topic, options)
  }

  /** Gives a claim back at once, also with `lease: 0`. The attempt counts; its holder's settlements are stale from now on. */
  async releaseClaim(topic: string, id: string): Promise<ReleasedClaim> {
    return await claims.releaseClaim(this.#engine, topic, id)
  }

  // ── messages ──

  /** A page of what is kept, by position, time, key and type. Consumes nothing. */
  async browse(topic: string, options?: BrowseOptions): Promise<BrowsedPage> {
    return await browse(this.#engine, topic, options)
  }

  /** What is published from now on: `for await (const message of await tm.admin.tail('orders'))`. Consumes nothing. */
  async tail(topic: string, options?: TailOptions): Promise<AsyncGenerator<StoredMessage, void, undefined>> {
    return await tail(this.#watching(), topic, options)
  }

  // ── dead letters ──

  /** Oldest first, a page at a time. */
  async deadLetters(topic: string, options?: DeadLetterOptions): Promise<DeadLetterMessage[]> {
    return await letters.deadLetters(this.#engine, topic, options)
  }

  /** The same with a bound in bytes (`maxBytes`, `maxPayloadBytes`), and where the next page begins. */
  async deadLetterPage(topic: string, options?: DeadLetterOptions & ByteOptions): Promise<DeadLetterPage> {
    return await letters.deadLetterPage(this.#engine, topic, options)
  }

  async deadLetter(
    topic: string,
    id: number,
    options?: Pick<ByteOptions, 'maxPayloadBytes'>,
  ): Promise<DeadLetterMessage | undefined> {
    return await letters.deadLetter(this.#engine, topic, id, options)
  }

  /** Back into delivery, with all their attempts; those whose message is gone from the log stay, and are counted. */
  async redrive(topic: string, filter: DeadLetterFilter): Promise<Redriven> {
    return await letters.redrive(this.#engine, topic, filter)
  }

  /** Deletes dead letters. Returns how many. */
  async discard(topic: string, filter: DeadLetterFilter): Promise<number> {
    return await letters.discard(this.#engine, topic, filter)
  }

  // ── backfills ──

  async startBackfill(
    topic: string,
    group: string,
    options?: BackfillOptions & { from?: From },
  ): Promise<BackfillProgress> {
    return await backfills.start(this.#engine, topic, group, options)
  }

  async backfill(topic: string, group: string): Promise<BackfillProgress | undefined> {
    return await backfills.progress(this.#engine, topic, group)
  }

  async cancelBackfill(topic: string, group: string): Promise<BackfillProgress> {
    return await backfills.cancel(this.#engine, topic, group)
  }

  async resumeBackfill(topic: string, group: string): Promise<BackfillProgress> {
    return await backfills.resume(this.#engine, topic, group)
  }

  // ── health ──

  /** What the namespace takes on the disk, in bytes. Cheap: no message is looked at. */
  async size(): Promise<StoredSize> {
    this.#engine.assertOpen()
    return await this.#engine.store.inspection.size()
  }

  /** All topics, groups and jobs from one statement, at most every 15 s (`maxAge`): for dashboards and monitoring. */
  async stats(options?: StatsOptions): Promise<Stats> {
    return await this.#stats.read(options)
  }

  /** What needs somebody's attention, in all topics. Safe to poll. */
  async health(options?: HealthOptions): Promise<Health> {
    return await health(this.#engine, options)
  }
}
