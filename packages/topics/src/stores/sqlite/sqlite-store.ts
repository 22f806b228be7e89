import { rmSync } from 'node:fs'
import { RowCache } from '../../row-cache.ts'
import type { TopicConfig, Tracking } from '../../topic-config.ts'
import type {
  BackfillBatch,
  BackfillPlan,
  BackfillRecord,
  BrowsePage,
  BrowseQuery,
  CleanUpStep,
  CompletionQuery,
  DeadLetterSelection,
  Detection,
  Heartbeat,
  HeartbeatResult,
  HorizonHolder,
  JobLock,
  JobRecord,
  MessageCompletion,
  Redriven,
  Resurrected,
  Resurrection,
  SubscriptionOfTopic,
  SubscriptionSettings,
  TailPage,
  TopicFacts,
  UnsubscribedTopic,
  Zombie,
} from '../fan-out-store.ts'
import type {
  ClaimRequest,
  ClaimResult,
  DeadLetter,
  DeadLetterQuery,
  OutgoingMessage,
  PoolUse,
  PublishedMessage,
  Settlement,
  SettleResult,
  StartPosition,
  Store,
  SubscriptionRecord,
  SubscriptionStatus,
  TopicDescription,
  TopicRecord,
} from '../store.ts'
import { backfillBatch, findBackfill, probe, setBackfillStatus, startBackfill, takeBackfill } from './backfills.ts'
import { clearBits } from './bits.ts'
import { browse, find, tail } from './browse.ts'
import { claim } from './claim.ts'
import { cleanUp } from './clean-up.ts'
import { completeOrphans, completion } from './completion.ts'
import { Connection, type ConnectionOptions } from './connection.ts'
import { DataVersionWatch } from './data-version.ts'
import { detectDead, endedSubscriptions, removeSubscription, unsubscribedTopics } from './dead-groups.ts'
import { findDeadLetter, listDeadLetters } from './dead-letters.ts'
import { describeTopic } from './describe.ts'
import { forgetOldLeases } from './expire.ts'
import { topicFacts } from './facts.ts'
import { heartbeat } from './heartbeats.ts'
import { horizonHolders } from './horizon.ts'
import { listJobs, lockJob, renewJob, unlockJob } from './jobs.ts'
import { dropTables, migrate } from './migrate.ts'
import { insertMessages, prepareOn } from './publish.ts'
import { discard, redrive } from './redrive.ts'
import { resetCursor } from './reset.ts'
import { resurrectDead } from './resurrect.ts'
import { extendLease, settleLease } from './settle.ts'
import { mapError } from './sqlite-errors.ts'
import { findSubscription, setStatus, subscribe } from './subscriptions.ts'
import { configureTopic, deleteTopic, findTopic, listTopics } from './topics.ts'
import { fillTracking, setTracking } from './tracking.ts'
import { forceAdvance, listZombies } from './zombies.ts'

export type SqliteOptions = ConnectionOptions & {
  readonly rowCacheBytes: number
  /** The file is this namespace's alone; otherwise the application's own tables may stand in it. */
  readonly ownFile: boolean
}

export async function openSqlite(options: SqliteOptions): Promise<Store> {
  const connection = new Connection(options)
  try {
    await connection.prepareForUse()
    await migrate(connection)
    return new SqliteStore(connection, options)
  } catch (error) {
    await connection.close()
    throw mapError(error, options.path)
  }
}

const FORGET_EVERY_MS = 60_000

class SqliteStore implements Store {
  readonly capabilities
  readonly location: string
  readonly #connection: Connection
  readonly #options: SqliteOptions
  readonly #caches = new Map<number, RowCache>()
  /** Subscriptions whose last claim was full: more is likely to be there, so the look before the write is left out. */
  readonly #busy = new Set<number>()
  #forgetAgainAt = performance.now() + FORGET_EVERY_MS
  #watch: DataVersionWatch | undefined

  constructor(connection: Connection, options: SqliteOptions) {
    this.#connection = connection
    this.#options = options
    this.location = options.path
    this.capabilities = {
      networked: false,
      concurrentWriters: false,
      notifies: false,
      persistent: options.path !== ':memory:',
    }
  }

  async topic(name: string): Promise<TopicRecord | undefined> {
    return await findTopic(this.#connection, name)
  }

  async configureTopic(name: string, given: Partial<TopicConfig>): Promise<TopicRecord> {
    return await configureTopic(this.#connection, name, given)
  }

  async describeTopic(topic: TopicRecord): Promise<TopicDescription> {
    return await this.#connection.retryWhileBusy(() => describeTopic(this.#connection, topic))
  }

  async publish(topic: TopicRecord, messages: readonly OutgoingMessage[], tx?: unknown): Promise<PublishedMessage[]> {
    if (tx !== undefined) return this.#publishIn(tx, topic, messages)
    return await this.#connection.write(true, () =>
      insertMessages(sql => this.#connection.prepare(sql), topic, messages),
    )
  }

  async subscribe(
    topic: TopicRecord,
    group: string,
    from: StartPosition,
    settings?: SubscriptionSettings,
  ): Promise<SubscriptionRecord> {
    return await subscribe(this.#connection, topic, group, from, settings)
  }

  async setStatus(topic: TopicRecord, subscription: SubscriptionRecord, status: SubscriptionStatus): Promise<void> {
    await setStatus(this.#connection, topic, subscription, status)
  }

  async claim(request: ClaimRequest): Promise<ClaimResult> {
    const cache = request.shared ? this.#cacheOf(request.topic) : undefined
    const lookFirst = !this.#busy.has(request.subscription.id)
    const result = await claim(this.#connection, request, { cache, lookFirst })
    if ((result.lease?.size ?? 0) >= request.limit) this.#busy.add(request.subscription.id)
    else this.#busy.delete(request.subscription.id)
    if (request.sweep) await this.#forgetOldLeases()
    return result
  }

  async settle(settlements: readonly Settlement[]): Promise<SettleResult[]> {
    return await this.#connection.write(true, () =>
      settlements.map(settlement => settleLease(this.#connection, settlement)),
    )
  }

  async extend(token: string, ms: number): Promise<boolean> {
    return await this.#connection.write(true, () => extendLease(this.#connection, token, ms))
  }

  async deadLetters(topic: TopicRecord, query: DeadLetterQuery): Promise<DeadLetter[]> {
    return await this.#connection.retryWhileBusy(() => listDeadLetters(this.#connection, topic, query))
  }

  async subscription(topic: TopicRecord, group: string): Promise<SubscriptionRecord | undefined> {
    return await this.#connection.retryWhileBusy(() => findSubscription(this.#connection, topic, group))
  }

  async heartbeat(beats: readonly Heartbeat[]): Promise<HeartbeatResult[]> {
    return await this.#connection.write(false, () => heartbeat(this.#connection, beats))
  }

  async resurrect(topic: TopicRecord, subscription: SubscriptionRecord, mode: Resurrection): Promise<Resurrected> {
    return await resurrectDead(this.#connection, topic, subscription, mode)
  }

  async detectDead(): Promise<Detection> {
    return await this.#connection.write(true, () => detectDead(this.#connection))
  }

  async unsubscribedTopics(): Promise<UnsubscribedTopic[]> {
    return await this.#connection.retryWhileBusy(() => unsubscribedTopics(this.#connection))
  }

  async endedSubscriptions(olderThanMs: number): Promise<SubscriptionOfTopic[]> {
    return await this.#connection.retryWhileBusy(() => endedSubscriptions(this.#connection, olderThanMs))
  }

  async removeSubscription(topic: TopicRecord, subscription: SubscriptionRecord): Promise<void> {
    await this.#connection.write(true, () => removeSubscription(this.#connection, topic, subscription))
  }

  async lockJob(name: string, lock: JobLock): Promise<boolean> {
    return await this.#connection.write(false, () => lockJob(this.#connection, name, lock))
  }

  async renewJob(name: string, lock: JobLock): Promise<boolean> {
    return await this.#connection.write(false, () => renewJob(this.#connection, name, lock))
  }

  async unlockJob(name: string, token: string, result: unknown): Promise<void> {
    await this.#connection.write(false, () => unlockJob(this.#connection, name, token, result))
  }

  async jobs(): Promise<JobRecord[]> {
    return await this.#connection.retryWhileBusy(() => listJobs(this.#connection))
  }

  // ── clean-up ──

  async topics(): Promise<TopicRecord[]> {
    return await listTopics(this.#connection)
  }

  async cleanUp(topic: TopicRecord, batchSize: number): Promise<CleanUpStep> {
    return await cleanUp(this.#connection, topic, batchSize)
  }

  async zombies(): Promise<Zombie[]> {
    return await this.#connection.retryWhileBusy(() => listZombies(this.#connection))
  }

  async forceAdvance(topic: TopicRecord, subscription: SubscriptionRecord): Promise<number> {
    return await this.#connection.write(true, () => forceAdvance(this.#connection, topic, subscription))
  }

  // ── reference tracking and backfill ──

  async setTracking(topic: TopicRecord, tracking: Tracking): Promise<TopicRecord> {
    return await setTracking(this.#connection, topic, tracking)
  }

  async fillTracking(topic: TopicRecord, limit: number): Promise<boolean> {
    return await fillTracking(this.#connection, topic, limit)
  }

  async clearBits(limit: number): Promise<{ cleared: number; more: boolean }> {
    return await clearBits(this.#connection, limit)
  }

  async completion(topic: TopicRecord, query: CompletionQuery): Promise<MessageCompletion[]> {
    return await this.#connection.retryWhileBusy(() => completion(this.#connection, topic, query))
  }

  async completeOrphans(topic: TopicRecord, olderThanMs: number): Promise<number> {
    return await completeOrphans(this.#connection, topic, olderThanMs)
  }

  async startBackfill(
    topic: TopicRecord,
    subscription: SubscriptionRecord,
    from: StartPosition,
    plan: BackfillPlan,
  ): Promise<BackfillRecord> {
    return await startBackfill(this.#connection, topic, subscription, from, plan)
  }

  async takeBackfill(token: string, ttlMs: number, subscriptionId?: number): Promise<BackfillRecord | null> {
    return await takeBackfill(this.#connection, token, ttlMs, subscriptionId)
  }

  async backfillBatch(subscriptionId: number, batch: BackfillBatch): Promise<BackfillRecord | 'lost'> {
    return await backfillBatch(this.#connection, subscriptionId, batch)
  }

  async setBackfillStatus(
    topic: TopicRecord,
    subscription: Pick<SubscriptionRecord, 'id' | 'group'>,
    status: 'RUNNING' | 'CANCELLED' | 'FAILED',
    error?: string,
  ): Promise<BackfillRecord> {
    return await setBackfillStatus(this.#connection, topic, subscription, status, error)
  }

  async backfill(subscriptionId: number): Promise<BackfillRecord | undefined> {
    return await this.#connection.retryWhileBusy(() => findBackfill(this.#connection, subscriptionId))
  }

  async probe(): Promise<void> {
    await probe(this.#connection)
  }

  // ── admin ──

  async deleteTopic(topic: TopicRecord): Promise<void> {
    this.#caches.delete(topic.id)
    await deleteTopic(this.#connection, topic)
  }

  async resetCursor(
    topic: TopicRecord,
    subscription: SubscriptionRecord,
    to: StartPosition,
    plan: BackfillPlan,
  ): Promise<void> {
    await resetCursor(this.#connection, topic, subscription, to, plan)
  }

  async find(topic: TopicRecord, messageId: string): Promise<number | undefined> {
    return await this.#connection.retryWhileBusy(() => find(this.#connection, topic, messageId))
  }

  async browse(topic: TopicRecord, query: BrowseQuery): Promise<BrowsePage> {
    return await browse(this.#connection, topic, query)
  }

  async tail(topic: TopicRecord, place: string | null, limit: number): Promise<TailPage> {
    return await this.#connection.retryWhileBusy(() => tail(this.#connection, topic, place, limit))
  }

  async deadLetter(topic: TopicRecord, id: number): Promise<DeadLetter | undefined> {
    return await this.#connection.retryWhileBusy(() => findDeadLetter(this.#connection, topic, id))
  }

  async redrive(topic: TopicRecord, selection: DeadLetterSelection): Promise<Redriven> {
    return await this.#connection.write(true, () => redrive(this.#connection, topic, selection))
  }

  async discard(topic: TopicRecord, selection: DeadLetterSelection): Promise<number> {
    return await this.#connection.write(true, () => discard(this.#connection, topic, selection))
  }

  async facts(topic: TopicRecord): Promise<TopicFacts> {
    return await this.#connection.retryWhileBusy(() => topicFacts(this.#connection, topic))
  }

  async horizonHolders(): Promise<HorizonHolder[]> {
    return horizonHolders()
  }

  watch(wake: (topicId: number | null) => void): void {
    // A memory database has no other writers.
    if (this.capabilities.persistent) this.#watch ??= new DataVersionWatch(this.#connection, () => wake(null))
  }

  /** Other processes see for themselves that the file has changed. */
  hint(): void {}

  forgetReader(topicId: number, subscriptionId: number, shared: boolean): void {
    this.#busy.delete(subscriptionId)
    if (!shared) this.#caches.delete(topicId)
  }

  poolUse(): PoolUse {
    return { size: 1, busy: 0, waiting: this.#connection.waiting }
  }

  async dropNamespace(): Promise<void> {
    await this.#connection.write(true, () => dropTables(this.#connection))
    await this.close()
    if (!this.capabilities.persistent || !this.#options.ownFile) return
    for (const suffix of ['-wal', '-shm', '']) rmSync(`${this.location}${suffix}`, { force: true })
  }

  async close(): Promise<void> {
    this.#watch?.stop()
    this.#caches.clear()
    await this.#connection.close()
  }

  #publishIn(tx: unknown, topic: TopicRecord, messages: readonly OutgoingMessage[]): PublishedMessage[] {
    const prepare = prepareOn(tx, this.location)
    try {
      return insertMessages(prepare, topic, messages)
    } catch (error) {
      throw mapError(error, this.location)
    }
  }

  async #forgetOldLeases(): Promise<void> {
    if (performance.now() < this.#forgetAgainAt) return
    this.#forgetAgainAt = performance.now() + FORGET_EVERY_MS
    await this.#connection.write(false, () => forgetOldLeases(this.#connection, this.#connection.now()))
  }

  #cacheOf(topic: TopicRecord): RowCache {
    let cache = this.#caches.get(topic.id)
    if (cache === undefined) {
      cache = new RowCache(this.#options.rowCacheBytes)
      this.#caches.set(topic.id, cache)
    }
    return cache
  }
}
