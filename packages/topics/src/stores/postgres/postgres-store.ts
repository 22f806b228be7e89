import { type NamespaceGoneError, SubscriptionGoneError } from '../../errors.ts'
import type { TopicConfig, Tracking } from '../../topic-config.ts'
import { withTimeout } from '../../with-timeout.ts'
import type { ByteBounds } from '../byte-bounds.ts'
import type { Capabilities } from '../capabilities.ts'
import type {
  BackfillBatch,
  BackfillPlan,
  BackfillRecord,
  BrowsePage,
  BrowseQuery,
  ClaimRecord,
  ClaimsQuery,
  CleanUpStep,
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
import { Claimer } from './claim.ts'
import { listClaims, releaseClaim } from './claims.ts'
import { cleanUp } from './clean-up.ts'
import { requireOwnCluster } from './cluster.ts'
import { completeOrphans, completion } from './completion.ts'
import { listConsumers } from './consumers.ts'
import { Database, type Logger, STATEMENT_TIMEOUT_MS } from './database.ts'
import { mapError } from './database-errors.ts'
import {
  acknowledgeLoss,
  detectDead,
  endedSubscriptions,
  removeSubscription,
  unsubscribedTopics,
} from './dead-groups.ts'
import { findDeadLetter, listDeadLetters } from './dead-letters.ts'
import { DedupePruner } from './dedupe.ts'
import { deleteTopic } from './delete-topic.ts'
import { describeTopic } from './describe.ts'
import { dropNamespace } from './drop-namespace.ts'
import { topicFacts } from './facts.ts'
import { FunctionsInUse } from './functions-in-use.ts'
import { HeartbeatConnection } from './heartbeats.ts'
import { horizonHolders } from './horizon.ts'
import { readIncarnation } from './incarnations.ts'
import { listJobs, lockJob, renewJob, unlockJob } from './jobs.ts'
import { Listener } from './listener.ts'
import { migrate } from './migrate.ts'
import { postgresOperator } from './operator.ts'
import { Partitions } from './partitions.ts'
import { Publisher } from './publish.ts'
import { leaseSize, readReceiptKey } from './receipts.ts'
import { discard, redrive, undeliverable } from './redrive.ts'
import { resetCursor } from './reset.ts'
import { resurrectDead } from './resurrect.ts'
import { extend, settle } from './settle.ts'
import { sizeOf } from './size.ts'
import { readStats } from './stats.ts'
import { findSubscription, setStatus, subscribe } from './subscribe.ts'
import { configureTopic, findTopic, listTopics } from './topics.ts'
import { fillTracking, setTracking } from './tracking.ts'
import { listRetries } from './waiting-retries.ts'
import { WakeUps } from './wake-ups.ts'
import { forceAdvance, listZombies } from './zombies.ts'

export type PostgresOptions = {
  readonly url: string
  readonly namespace: string
  readonly poolSize?: number
  readonly rowCacheBytes: number
  readonly logger: Logger
  readonly applicationName?: string
  readonly statementTimeoutMs?: number
}

export async function openPostgres({
  url,
  namespace,
  poolSize = 10,
  rowCacheBytes,
  logger,
  applicationName = 'tidemark',
  statementTimeoutMs = STATEMENT_TIMEOUT_MS,
}: PostgresOptions): Promise<Store> {
  const database = new Database({ url, namespace, poolSize, applicationName, logger, statementTimeoutMs })
  const wakeUps = new WakeUps(database)
  const listener = new Listener(database, wakeUps)
  try {
    await migrate(database)
    await requireOwnCluster(database)
    database.incarnation = await readIncarnation(database)
    const notifies = await listener.start()
    // Notifications arrive where sessions are kept: the one proof serves both.
    database.keepsSessions = notifies
    const functions = new FunctionsInUse(database, () => postgresOperator(url, namespace).migrate())
    return new PostgresStore(database, wakeUps, listener, functions, { notifies, rowCacheBytes })
  } catch (error) {
    await listener.close()
    await database.close()
    throw mapError(error, database.location, statementTimeoutMs)
  }
}

/** Unless whoever closes it says otherwise. */
const CLOSE_MS = 5_000

class PostgresStore implements Store {
  readonly capabilities: Capabilities
  readonly #database: Database
  readonly #wakeUps: WakeUps
  readonly #listener: Listener
  readonly #partitions: Partitions
  readonly #pruner: DedupePruner
  readonly #publisher: Publisher
  readonly #claimer: Claimer
  readonly #heartbeats: HeartbeatConnection
  readonly #functions: FunctionsInUse
  #closing: Promise<void> | undefined

  constructor(
    database: Database,
    wakeUps: WakeUps,
    listener: Listener,
    functions: FunctionsInUse,
    { notifies, rowCacheBytes }: { notifies: boolean; rowCacheBytes: number },
  ) {
    this.capabilities = { networked: true, concurrentWriters: true, notifies, persistent: true }
    this.#database = database
    this.#wakeUps = wakeUps
    this.#listener = listener
    this.#functions = functions
    this.#partitions = new Partitions(database)
    this.#pruner = new DedupePruner(database)
    this.#publisher = new Publisher(database, this.#partitions)
    this.#claimer = new Claimer(database, rowCacheBytes)
    database.onLostConnection = () => this.#claimer.forgetAll()
    this.#heartbeats = new HeartbeatConnection(database)
    // Nobody is to be kept from a repair of what is there now, nor told of what is not.
    database.guard.onGone(() => void listener.close())
  }

  get location(): string {
    return this.#database.location
  }

  topic(name: string): Promise<TopicRecord | undefined> {
    return this.#expecting({}, () => findTopic(this.#database, name))
  }

  /** On a connection of our own: nobody waits for the caller's transaction. */
  async topicIn(_tx: unknown, name: string, create: boolean): Promise<TopicRecord | undefined> {
    return (await this.topic(name)) ?? (create ? await this.configureTopic(name, {}) : undefined)
  }

  configureTopic(name: string, given: Partial<TopicConfig>): Promise<TopicRecord> {
    return this.#expecting({}, () => configureTopic(this.#database, name, given))
  }

  describeTopic(topic: TopicRecord): Promise<TopicDescription> {
    return this.#expecting({ topic }, () => describeTopic(this.#database, topic))
  }

  async publish(topic: TopicRecord, messages: readonly OutgoingMessage[], tx?: unknown): Promise<PublishedMessage[]> {
    const published = await this.#publisher.publish(topic, messages, tx)
    // Inside a caller's transaction nothing is to be seen yet.
    if (tx === undefined) this.#wakeUps.send(topic.id)
    if (messages.some(message => message.messageId !== null)) this.#pruner.touch(topic)
    return published
  }

  subscribe(
    topic: TopicRecord,
    group: string,
    from: StartPosition,
    settings?: SubscriptionSettings,
  ): Promise<SubscriptionRecord> {
    return this.#expecting({ topic }, () => subscribe(this.#database, topic, group, from, settings))
  }

  setStatus(topic: TopicRecord, subscription: SubscriptionRecord, status: SubscriptionStatus): Promise<void> {
    return this.#expecting({ topic, subscription }, () => setStatus(this.#database, topic, subscription, status))
  }

  claim(request: ClaimRequest): Promise<ClaimResult> {
    return this.#claimer.claim(request)
  }

  settle(settlements: readonly Settlement[]): Promise<SettleResult[]> {
    return settle(this.#database, settlements, topicId => this.#wakeUps.send(topicId))
  }

  extend(token: string, ms: number): Promise<boolean> {
    return extend(this.#database, token, ms)
  }

  leaseSize(token: string): Promise<number | undefined> {
    return leaseSize(this.#database, token)
  }

  receiptKey(): Promise<Uint8Array> {
    return readReceiptKey(this.#database)
  }

  deadLetters(topic: TopicRecord, query: DeadLetterQuery): Promise<DeadLetter[]> {
    return this.#expecting({ topic }, () => listDeadLetters(this.#database, topic, query))
  }

  subscription(topic: TopicRecord, group: string): Promise<SubscriptionRecord | undefined> {
    return this.#expecting({ topic }, () => findSubscription(this.#database, topic, group))
  }

  heartbeat(beats: readonly Heartbeat[]): Promise<HeartbeatResult[]> {
    return this.#heartbeats.heartbeat(beats)
  }

  consumers(topic: TopicRecord): Promise<ConsumerRecord[]> {
    return this.#expecting({ topic }, () => listConsumers(this.#database, topic))
  }

  resurrect(topic: TopicRecord, subscription: SubscriptionRecord, mode: Resurrection): Promise<Resurrected> {
    return this.#expecting({ topic, subscription }, () => resurrectDead(this.#database, topic, subscription, mode))
  }

  detectDead(): Promise<Detection> {
    return this.#expecting({}, () => detectDead(this.#database))
  }

  unsubscribedTopics(): Promise<UnsubscribedTopic[]> {
    return this.#expecting({}, () => unsubscribedTopics(this.#database))
  }

  endedSubscriptions(olderThanMs: number): Promise<SubscriptionOfTopic[]> {
    return this.#expecting({}, () => endedSubscriptions(this.#database, olderThanMs))
  }

  acknowledgeLoss(topic: TopicRecord, subscription: SubscriptionRecord): Promise<number> {
    return this.#expecting({ topic, subscription }, () => acknowledgeLoss(this.#database, topic, subscription))
  }

  async removeSubscription(topic: TopicRecord, subscription: SubscriptionRecord): Promise<void> {
    try {
      await this.#expecting({ topic, subscription }, () => removeSubscription(this.#database, topic, subscription))
    } catch (error) {
      // Another process has removed it.
      if (!(error instanceof SubscriptionGoneError)) throw error
    }
  }

  lockJob(name: string, lock: JobLock): Promise<boolean> {
    return this.#expecting({}, () => lockJob(this.#database, name, lock))
  }

  renewJob(name: string, lock: JobLock): Promise<boolean> {
    return this.#expecting({}, () => renewJob(this.#database, name, lock))
  }

  unlockJob(name: string, token: string, result: unknown): Promise<void> {
    return this.#expecting({}, () => unlockJob(this.#database, name, token, result))
  }

  jobs(): Promise<JobRecord[]> {
    return this.#expecting({}, () => listJobs(this.#database))
  }

  // ── clean-up ──

  topics(): Promise<TopicRecord[]> {
    return this.#expecting({}, () => listTopics(this.#database))
  }

  /** A partition at a time: its rows are no measure. */
  cleanUp(topic: TopicRecord): Promise<CleanUpStep> {
    return this.#expecting({ topic }, () => cleanUp(this.#database, topic))
  }

  zombies(): Promise<Zombie[]> {
    return this.#expecting({}, () => listZombies(this.#database))
  }

  forceAdvance(topic: TopicRecord, subscription: SubscriptionRecord): Promise<number> {
    return this.#expecting({ topic, subscription }, () => forceAdvance(this.#database, topic, subscription))
  }

  // ── reference tracking and backfill ──

  setTracking(topic: TopicRecord, tracking: Tracking): Promise<TopicRecord> {
    return this.#expecting({ topic }, () => setTracking(this.#database, topic, tracking))
  }

  fillTracking(topic: TopicRecord, limit: number): Promise<boolean> {
    return this.#expecting({ topic }, () => fillTracking(this.#database, topic, limit))
  }

  clearBits(limit: number): Promise<{ cleared: number; more: boolean }> {
    return this.#expecting({}, () => clearBits(this.#database, limit))
  }

  completion(topic: TopicRecord, query: CompletionQuery): Promise<MessageCompletion[]> {
    return this.#expecting({ topic }, () => completion(this.#database, topic, query))
  }

  completeOrphans(topic: TopicRecord, olderThanMs: number): Promise<number> {
    return this.#expecting({ topic }, () => completeOrphans(this.#database, topic, olderThanMs))
  }

  startBackfill(
    topic: TopicRecord,
    subscription: SubscriptionRecord,
    from: StartPosition,
    plan: BackfillPlan,
  ): Promise<BackfillRecord> {
    return this.#expecting({ topic, subscription }, () =>
      startBackfill(this.#database, topic, subscription, from, plan),
    )
  }

  takeBackfill(token: string, ttlMs: number, subscription?: SubscriptionRef): Promise<BackfillRecord | null> {
    return this.#expecting(subscription ? { subscription } : {}, () =>
      takeBackfill(this.#database, token, ttlMs, subscription?.id),
    )
  }

  async backfillBatch(subscriptionId: number, batch: BackfillBatch): Promise<BackfillRecord | 'lost'> {
    const record = await this.#expecting({}, () => backfillBatch(this.#database, subscriptionId, batch))
    if (record !== 'lost') this.#wakeUps.send(record.topicId)
    return record
  }

  setBackfillStatus(
    topic: TopicRecord,
    subscription: SubscriptionRef,
    status: 'RUNNING' | 'CANCELLED' | 'FAILED',
    error?: string,
  ): Promise<BackfillRecord> {
    return this.#expecting({ topic, subscription }, () =>
      setBackfillStatus(this.#database, topic, subscription, status, error),
    )
  }

  backfill(subscription: SubscriptionRef): Promise<BackfillRecord | undefined> {
    return this.#expecting({ subscription }, () => findBackfill(this.#database, subscription.id))
  }

  /** As a publish it is one round trip, so it comes without a look; it writes to no table. */
  probe(): Promise<void> {
    return probe(this.#database)
  }

  // ── admin ──

  deleteTopic(topic: TopicRecord): Promise<void> {
    return deleteTopic(this.#database, topic)
  }

  resetCursor(
    topic: TopicRecord,
    subscription: SubscriptionRecord,
    to: StartPosition,
    plan: BackfillPlan,
  ): Promise<void> {
    return this.#expecting({ topic, subscription }, () => resetCursor(this.#database, topic, subscription, to, plan))
  }

  find(topic: TopicRecord, messageId: string): Promise<number | undefined> {
    return this.#expecting({ topic }, () => find(this.#database, topic, messageId))
  }

  browse(topic: TopicRecord, query: BrowseQuery): Promise<BrowsePage> {
    return this.#expecting({ topic }, () => browse(this.#database, topic, query))
  }

  tail(topic: TopicRecord, place: string | null, limit: number, bounds: ByteBounds = {}): Promise<TailPage> {
    return this.#expecting({ topic }, () => tail(this.#database, topic, place, limit, bounds))
  }

  retries(topic: TopicRecord, subscription: SubscriptionRecord, query: RetryQuery): Promise<RetryRecord[]> {
    return this.#expecting({ topic, subscription }, () => listRetries(this.#database, topic, subscription, query))
  }

  deadLetter(topic: TopicRecord, id: number, bounds: ByteBounds = {}): Promise<DeadLetter | undefined> {
    return this.#expecting({ topic }, () => findDeadLetter(this.#database, topic, id, bounds))
  }

  claims(topic: TopicRecord, query: ClaimsQuery): Promise<ClaimRecord[]> {
    return this.#expecting({ topic }, () => listClaims(this.#database, topic, query))
  }

  releaseClaim(topic: TopicRecord, token: string): Promise<ReleasedClaim | undefined> {
    return this.#expecting({ topic }, () => releaseClaim(this.#database, topic, token))
  }

  redrive(topic: TopicRecord, selection: DeadLetterSelection): Promise<RedrivenPage> {
    return this.#expecting({ topic }, () => redrive(this.#database, topic, selection))
  }

  undeliverable(topic: TopicRecord, selection: DeadLetterSelection): Promise<Undeliverable> {
    return this.#expecting({ topic }, () => undeliverable(this.#database, topic, selection))
  }

  discard(topic: TopicRecord, selection: DeadLetterSelection): Promise<number> {
    return this.#expecting({ topic }, () => discard(this.#database, topic, selection))
  }

  facts(topic: TopicRecord): Promise<TopicFacts> {
    return this.#expecting({ topic }, () => topicFacts(this.#database, topic))
  }

  /** The server's own is used for everything. */
  async clock(): Promise<null> {
    return null
  }

  stats(most: number): Promise<StatsRecord> {
    return this.#expecting({}, () => readStats(this.#database, most))
  }

  size(): Promise<StoredSize> {
    return this.#expecting({}, () => sizeOf(this.#database))
  }

  horizonHolders(): Promise<HorizonHolder[]> {
    return horizonHolders(this.#database)
  }

  watch(wake: (topicId: number | null) => void): void {
    this.#listener.watch(wake)
  }

  forgetReader(topicId: number, subscriptionId: number, shared: boolean): void {
    this.#claimer.forgetReader(topicId, subscriptionId, shared)
  }

  hint(topicId: number): void {
    this.#wakeUps.send(topicId)
  }

  poolUse(): PoolUse {
    return this.#database.poolUse()
  }

  onGone(tell: (error: NamespaceGoneError) => void): void {
    this.#database.guard.onGone(tell)
  }

  dropNamespace(): Promise<void> {
    return dropNamespace(this.#database)
  }

  close(withinMs?: number): Promise<void> {
    this.#closing ??= this.#close(withinMs)
    return this.#closing
  }

  #expecting<T>(expected: Expected, verb: () => Promise<T>): Promise<T> {
    return this.#database.expecting(expected, verb)
  }

  async #close(withinMs = CLOSE_MS): Promise<void> {
    const until = performance.now() + withinMs
    const idle = Promise.allSettled([
      this.#partitions.idle(),
      this.#pruner.idle(),
      this.#wakeUps.close(),
      this.#listener.close(),
      this.#heartbeats.close(),
      this.#functions.close(),
    ])
    await withTimeout(idle, withinMs)
    await this.#database.close(Math.max(0, until - performance.now()))
  }
}
