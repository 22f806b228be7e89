import { rmSync } from 'node:fs'
import { type NamespaceGoneError, SubscriptionGoneError } from '../../errors.ts'
import { RowCache } from '../../row-cache.ts'
import type { TopicConfig, Tracking } from '../../topic-config.ts'
import type { ByteBounds } from '../byte-bounds.ts'
import type {
  BackfillBatch,
  BackfillPlan,
  BackfillRecord,
  BrowsePage,
  BrowseQuery,
  ClaimRecord,
  ClaimsQuery,
  CleanUpStep,
  ClockReading,
  CompletionQuery,
  ConsumerRecord,
  DeadLetterSelection,
  Detection,
  Heartbeat,
  HeartbeatResult,
  HorizonHolder,
  JobLock,
  JobRecord,
  MessageCompletion,
  RedrivenPage,
  ReleasedClaim,
  Resurrected,
  Resurrection,
  RetryQuery,
  RetryRecord,
  StatsRecord,
  StoredSize,
  SubscriptionOfTopic,
  SubscriptionSettings,
  TailPage,
  TopicFacts,
  Undeliverable,
  UnsubscribedTopic,
  Zombie,
} from '../fan-out-store.ts'
import type {
  ClaimRequest,
  ClaimResult,
  DeadLetter,
  DeadLetterQuery,
  Expected,
  OutgoingMessage,
  PoolUse,
  PublishedMessage,
  Settlement,
  SettleResult,
  StartPosition,
  Store,
  SubscriptionRecord,
  SubscriptionRef,
  SubscriptionStatus,
  TopicDescription,
  TopicRecord,
} from '../store.ts'
import { backfillBatch, findBackfill, probe, setBackfillStatus, startBackfill, takeBackfill } from './backfills.ts'
import { clearBits } from './bits.ts'
import { browse, find, tail } from './browse.ts'
import { claim } from './claim.ts'
import { listClaims, releaseClaim } from './claims.ts'
import { cleanUp } from './clean-up.ts'
import type { Prepare } from './clock.ts'
import { completeOrphans, completion } from './completion.ts'
import { Connection, type ConnectionOptions } from './connection.ts'
import { listConsumers } from './consumers.ts'
import { DataVersionWatch } from './data-version.ts'
import { detectDead, endedSubscriptions, removeSubscription, unsubscribedTopics } from './dead-groups.ts'
import { findDeadLetter, listDeadLetters } from './dead-letters.ts'
import { describeTopic } from './describe.ts'
import { forgetOldLeases } from './expire.ts'
import { topicFacts } from './facts.ts'
import { heartbeat } from './heartbeats.ts'
import { horizonHolders } from './horizon.ts'
import { listJobs, lockJob, renewJob, unlockJob } from './jobs.ts'
import { acknowledgeLoss } from './loss.ts'
import { dropTables, migrate } from './migrate.ts'
import { insertMessages, prepareOn } from './publish.ts'
import { leaseSize, readReceiptKey } from './receipts.ts'
import { discard, redrive, undeliverable } from './redrive.ts'
import { resetCursor } from './reset.ts'
import { resurrectDead } from './resurrect.ts'
import { extendLease, settleLease } from './settle.ts'
import { sizeOf } from './size.ts'
import { mapError } from './sqlite-errors.ts'
import { readStats } from './stats.ts'
import { findSubscription, setStatus, subscribe } from './subscriptions.ts'
import { configureTopic, deleteTopic, findTopic, listTopics, topicIn } from './topics.ts'
import { fillTracking, setTracking } from './tracking.ts'
import { listRetries } from './waiting-retries.ts'
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
    await connection.bind()
    await connection.startClock()
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
  #forgetFrom = ''
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

  async topicIn(tx: unknown, name: string, create: boolean): Promise<TopicRecord | undefined> {
    return this.#inTransaction(tx, prepare => topicIn(prepare, name, create))
  }

  async configureTopic(name: string, given: Partial<TopicConfig>): Promise<TopicRecord> {
    return await configureTopic(this.#connection, name, given)
  }

  async describeTopic(topic: TopicRecord): Promise<TopicDescription> {
    return await this.#expecting({ topic }, () =>
      this.#connection.retryWhileBusy(() => describeTopic(this.#connection, topic)),
    )
  }

  async publish(topic: TopicRecord, messages: readonly OutgoingMessage[], tx?: unknown): Promise<PublishedMessage[]> {
    if (tx !== undefined) return this.#inTransaction(tx, prepare => insertMessages(prepare, topic, messages))
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
    return await this.#expecting({ topic }, () => subscribe(this.#connection, topic, group, from, settings))
  }

  async setStatus(topic: TopicRecord, subscription: SubscriptionRecord, status: SubscriptionStatus): Promise<void> {
    await this.#expecting({ topic, subscription }, () => setStatus(this.#connection, topic, subscription, status))
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

  async leaseSize(token: string): Promise<number | undefined> {
    return await this.#connection.retryWhileBusy(() => leaseSize(this.#connection, token))
  }

  async receiptKey(): Promise<Uint8Array> {
    return await this.#connection.retryWhileBusy(() => readReceiptKey(this.#connection))
  }

  async deadLetters(topic: TopicRecord, query: DeadLetterQuery): Promise<DeadLetter[]> {
    return await this.#expecting({ topic }, () =>
      this.#connection.retryWhileBusy(() => listDeadLetters(this.#connection, topic, query)),
    )
  }

  async subscription(topic: TopicRecord, group: string): Promise<SubscriptionRecord | undefined> {
    return await this.#expecting({ topic }, () =>
      this.#connection.retryWhileBusy(() => findSubscription(this.#connection, topic, group)),
    )
  }

  async heartbeat(beats: readonly Heartbeat[]): Promise<HeartbeatResult[]> {
    return await this.#connection.write(false, () => heartbeat(this.#connection, beats))
  }

  async consumers(topic: TopicRecord): Promise<ConsumerRecord[]> {
    return await this.#expecting({ topic }, () =>
      this.#connection.retryWhileBusy(() => listConsumers(this.#connection, topic)),
    )
  }

  async resurrect(topic: TopicRecord, subscription: SubscriptionRecord, mode: Resurrection): Promise<Resurrected> {
    return await this.#expecting({ topic, subscription }, () =>
      resurrectDead(this.#connection, topic, subscription, mode),
    )
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

  async acknowledgeLoss(topic: TopicRecord, subscription: SubscriptionRecord): Promise<number> {
    return await this.#expecting({ topic, subscription }, () =>
      this.#connection.write(true, () => acknowledgeLoss(this.#connection, topic, subscription)),
    )
  }

  async removeSubscription(topic: TopicRecord, subscription: SubscriptionRecord): Promise<void> {
    try {
      await this.#expecting({ topic, subscription }, () =>
        this.#connection.write(true, () => removeSubscription(this.#connection, topic, subscription)),
      )
    } catch (error) {
      // Another process has removed it.
      if (!(error instanceof SubscriptionGoneError)) throw error
    }
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
    return await this.#expecting({ topic }, () => cleanUp(this.#connection, topic, batchSize))
  }

  async zombies(): Promise<Zombie[]> {
    return await this.#connection.retryWhileBusy(() => listZombies(this.#connection))
  }

  async forceAdvance(topic: TopicRecord, subscription: SubscriptionRecord): Promise<number> {
    return await this.#expecting({ topic, subscription }, () =>
      this.#connection.write(true, () => forceAdvance(this.#connection, topic, subscription)),
    )
  }

  // ── reference tracking and backfill ──

  async setTracking(topic: TopicRecord, tracking: Tracking): Promise<TopicRecord> {
    return await this.#expecting({ topic }, () => setTracking(this.#connection, topic, tracking))
  }

  async fillTracking(topic: TopicRecord, limit: number): Promise<boolean> {
    return await this.#expecting({ topic }, () => fillTracking(this.#connection, topic, limit))
  }

  async clearBits(limit: number): Promise<{ cleared: number; more: boolean }> {
    return await clearBits(this.#connection, limit)
  }

  async completion(topic: TopicRecord, query: CompletionQuery): Promise<MessageCompletion[]> {
    return await this.#expecting({ topic }, () =>
      this.#connection.retryWhileBusy(() => completion(this.#connection, topic, query)),
    )
  }

  async completeOrphans(topic: TopicRecord, olderThanMs: number): Promise<number> {
    return await this.#expecting({ topic }, () => completeOrphans(this.#connection, topic, olderThanMs))
  }

  async startBackfill(
    topic: TopicRecord,
    subscription: SubscriptionRecord,
    from: StartPosition,
    plan: BackfillPlan,
  ): Promise<BackfillRecord> {
    return await this.#expecting({ topic, subscription }, () =>
      startBackfill(this.#connection, topic, subscription, from, plan),
    )
  }

  async takeBackfill(token: string, ttlMs: number, subscription?: SubscriptionRef): Promise<BackfillRecord | null> {
    return await this.#expecting(subscription ? { subscription } : {}, () =>
      takeBackfill(this.#connection, token, ttlMs, subscription?.id),
    )
  }

  async backfillBatch(subscriptionId: number, batch: BackfillBatch): Promise<BackfillRecord | 'lost'> {
    return await backfillBatch(this.#connection, subscriptionId, batch)
  }

  async setBackfillStatus(
    topic: TopicRecord,
    subscription: SubscriptionRef,
    status: 'RUNNING' | 'CANCELLED' | 'FAILED',
    error?: string,
  ): Promise<BackfillRecord> {
    return await this.#expecting({ topic, subscription }, () =>
      setBackfillStatus(this.#connection, topic, subscription, status, error),
    )
  }

  async backfill(subscription: SubscriptionRef): Promise<BackfillRecord | undefined> {
    return await this.#expecting({ subscription }, () =>
      this.#connection.retryWhileBusy(() => findBackfill(this.#connection, subscription.id)),
    )
  }

  async probe(): Promise<void> {
    await probe(this.#connection)
  }

  // ── admin ──

  async deleteTopic(topic: TopicRecord): Promise<void> {
    this.#caches.delete(topic.id)
    await this.#expecting({ topic }, () => deleteTopic(this.#connection, topic))
  }

  async resetCursor(
    topic: TopicRecord,
    subscription: SubscriptionRecord,
    to: StartPosition,
    plan: BackfillPlan,
  ): Promise<void> {
    await this.#expecting({ topic, subscription }, () => resetCursor(this.#connection, topic, subscription, to, plan))
  }

  async find(topic: TopicRecord, messageId: string): Promise<number | undefined> {
    return await this.#expecting({ topic }, () =>
      this.#connection.retryWhileBusy(() => find(this.#connection, topic, messageId)),
    )
  }

  async browse(topic: TopicRecord, query: BrowseQuery): Promise<BrowsePage> {
    return await this.#expecting({ topic }, () => browse(this.#connection, topic, query))
  }

  async tail(topic: TopicRecord, place: string | null, limit: number, bounds: ByteBounds = {}): Promise<TailPage> {
    return await this.#expecting({ topic }, () =>
      this.#connection.retryWhileBusy(() => tail(this.#connection, topic, place, limit, bounds)),
    )
  }

  async retries(topic: TopicRecord, subscription: SubscriptionRecord, query: RetryQuery): Promise<RetryRecord[]> {
    return await this.#expecting({ topic, subscription }, () =>
      this.#connection.retryWhileBusy(() => listRetries(this.#connection, topic, subscription, query)),
    )
  }

  async deadLetter(topic: TopicRecord, id: number, bounds: ByteBounds = {}): Promise<DeadLetter | undefined> {
    return await this.#expecting({ topic }, () =>
      this.#connection.retryWhileBusy(() => findDeadLetter(this.#connection, topic, id, bounds)),
    )
  }

  async claims(topic: TopicRecord, query: ClaimsQuery): Promise<ClaimRecord[]> {
    return await this.#expecting({ topic }, () =>
      this.#connection.retryWhileBusy(() => listClaims(this.#connection, topic, query)),
    )
  }

  async releaseClaim(topic: TopicRecord, token: string): Promise<ReleasedClaim | undefined> {
    return await this.#expecting({ topic }, () =>
      this.#connection.write(true, () => releaseClaim(this.#connection, topic, token)),
    )
  }

  async redrive(topic: TopicRecord, selection: DeadLetterSelection): Promise<RedrivenPage> {
    return await this.#expecting({ topic }, () =>
      this.#connection.write(true, () => redrive(this.#connection, topic, selection)),
    )
  }

  async undeliverable(topic: TopicRecord, selection: DeadLetterSelection): Promise<Undeliverable> {
    return await this.#expecting({ topic }, () =>
      this.#connection.retryWhileBusy(() => undeliverable(this.#connection, topic, selection)),
    )
  }

  async discard(topic: TopicRecord, selection: DeadLetterSelection): Promise<number> {
    return await this.#expecting({ topic }, () =>
      this.#connection.write(true, () => discard(this.#connection, topic, selection)),
    )
  }

  async facts(topic: TopicRecord): Promise<TopicFacts> {
    return await this.#expecting({ topic }, () =>
      this.#connection.retryWhileBusy(() => topicFacts(this.#connection, topic)),
    )
  }

  async clock(): Promise<ClockReading> {
    return await this.#connection.clock()
  }

  async stats(most: number): Promise<StatsRecord> {
    return await this.#connection.retryWhileBusy(() => readStats(this.#connection, most))
  }

  async size(): Promise<StoredSize> {
    return await this.#connection.retryWhileBusy(() => sizeOf(this.#connection))
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

  onGone(tell: (error: NamespaceGoneError) => void): void {
    this.#connection.guard.onGone(tell)
  }

  async dropNamespace(): Promise<void> {
    await this.#connection.write(true, () => dropTables(this.#connection))
    await this.close()
    if (!this.capabilities.persistent || !this.#options.ownFile || !this.#connection.isSameFile()) return
    const { realPath } = this.#connection
    for (const path of [`${realPath}-wal`, `${realPath}-shm`, realPath, this.location]) rmSync(path, { force: true })
  }

  async close(): Promise<void> {
    this.#watch?.stop()
    this.#caches.clear()
    await this.#connection.close()
  }

  /** In the caller's own, checked; it holds the write lock when it has written. */
  #inTransaction<T>(tx: unknown, work: (prepare: Prepare) => T): T {
    const { db, prepare } = prepareOn(tx, this.#connection.realPath)
    try {
      this.#connection.requireNamespaceOf(prepare)
      return work(prepare)
    } catch (error) {
      throw mapError(error, this.location)
    } finally {
      this.#connection.noteTransaction(db)
    }
  }

  async #forgetOldLeases(): Promise<void> {
    if (performance.now() < this.#forgetAgainAt) return
    this.#forgetAgainAt = performance.now() + FORGET_EVERY_MS
    this.#forgetFrom = await this.#connection.write(false, () =>
      forgetOldLeases(this.#connection, this.#connection.now(), this.#forgetFrom),
    )
  }

  #expecting<T>(expected: Expected, verb: () => Promise<T>): Promise<T> {
    return this.#connection.expecting(expected, verb)
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
