import type { TopicConfig, Tracking } from '../../topic-config.ts'
import type { Capabilities } from '../capabilities.ts'
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
import { Claimer } from './claim.ts'
import { cleanUp } from './clean-up.ts'
import { requireOwnCluster } from './cluster.ts'
import { completeOrphans, completion } from './completion.ts'
import { Database, type Logger } from './database.ts'
import { mapError } from './database-errors.ts'
import { detectDead, endedSubscriptions, removeSubscription, unsubscribedTopics } from './dead-groups.ts'
import { findDeadLetter, listDeadLetters } from './dead-letters.ts'
import { DedupePruner } from './dedupe.ts'
import { deleteTopic } from './delete-topic.ts'
import { describeTopic } from './describe.ts'
import { dropNamespace } from './drop-namespace.ts'
import { topicFacts } from './facts.ts'
import { HeartbeatConnection } from './heartbeats.ts'
import { horizonHolders } from './horizon.ts'
import { listJobs, lockJob, renewJob, unlockJob } from './jobs.ts'
import { Listener } from './listener.ts'
import { migrate } from './migrate.ts'
import { Partitions } from './partitions.ts'
import { Publisher } from './publish.ts'
import { discard, redrive } from './redrive.ts'
import { resetCursor } from './reset.ts'
import { resurrectDead } from './resurrect.ts'
import { extend, settle } from './settle.ts'
import { findSubscription, setStatus, subscribe } from './subscribe.ts'
import { configureTopic, findTopic, listTopics } from './topics.ts'
import { fillTracking, setTracking } from './tracking.ts'
import { WakeUps } from './wake-ups.ts'
import { forceAdvance, listZombies } from './zombies.ts'

export type PostgresOptions = {
  readonly url: string
  readonly namespace: string
  readonly poolSize?: number
  readonly rowCacheBytes: number
  readonly logger: Logger
  readonly applicationName?: string
}

export async function openPostgres({
  url,
  namespace,
  poolSize = 10,
  rowCacheBytes,
  logger,
  applicationName = 'tidemark',
}: PostgresOptions): Promise<Store> {
  const database = new Database({ url, namespace, poolSize, applicationName, logger })
  const wakeUps = new WakeUps(database)
  const listener = new Listener(database, wakeUps)
  try {
    await migrate(database)
    await requireOwnCluster(database)
    const notifies = await listener.start()
    // Notifications arrive where sessions are kept: the one proof serves both.
    database.keepsSessions = notifies
    return new PostgresStore(database, wakeUps, listener, { notifies, rowCacheBytes })
  } catch (error) {
    await listener.close()
    await database.close()
    throw mapError(error, database.location)
  }
}

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
  #closing: Promise<void> | undefined

  constructor(
    database: Database,
    wakeUps: WakeUps,
    listener: Listener,
    { notifies, rowCacheBytes }: { notifies: boolean; rowCacheBytes: number },
  ) {
    this.capabilities = { networked: true, concurrentWriters: true, notifies, persistent: true }
    this.#database = database
    this.#wakeUps = wakeUps
    this.#listener = listener
    this.#partitions = new Partitions(database)
    this.#pruner = new DedupePruner(database)
    this.#publisher = new Publisher(database, this.#partitions)
    this.#claimer = new Claimer(database, rowCacheBytes)
    this.#heartbeats = new HeartbeatConnection(database)
  }

  get location(): string {
    return this.#database.location
  }

  topic(name: string): Promise<TopicRecord | undefined> {
    return findTopic(this.#database, name)
  }

  configureTopic(name: string, given: Partial<TopicConfig>): Promise<TopicRecord> {
    return configureTopic(this.#database, name, given)
  }

  describeTopic(topic: TopicRecord): Promise<TopicDescription> {
    return describeTopic(this.#database, topic)
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
    return subscribe(this.#database, topic, group, from, settings)
  }

  setStatus(topic: TopicRecord, subscription: SubscriptionRecord, status: SubscriptionStatus): Promise<void> {
    return setStatus(this.#database, topic, subscription, status)
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

  deadLetters(topic: TopicRecord, query: DeadLetterQuery): Promise<DeadLetter[]> {
    return listDeadLetters(this.#database, topic, query)
  }

  subscription(topic: TopicRecord, group: string): Promise<SubscriptionRecord | undefined> {
    return findSubscription(this.#database, topic, group)
  }

  heartbeat(beats: readonly Heartbeat[]): Promise<HeartbeatResult[]> {
    return this.#heartbeats.heartbeat(beats)
  }

  resurrect(topic: TopicRecord, subscription: SubscriptionRecord, mode: Resurrection): Promise<Resurrected> {
    return resurrectDead(this.#database, topic, subscription, mode)
  }

  detectDead(): Promise<Detection> {
    return detectDead(this.#database)
  }

  unsubscribedTopics(): Promise<UnsubscribedTopic[]> {
    return unsubscribedTopics(this.#database)
  }

  endedSubscriptions(olderThanMs: number): Promise<SubscriptionOfTopic[]> {
    return endedSubscriptions(this.#database, olderThanMs)
  }

  removeSubscription(topic: TopicRecord, subscription: SubscriptionRecord): Promise<void> {
    return removeSubscription(this.#database, topic, subscription)
  }

  lockJob(name: string, lock: JobLock): Promise<boolean> {
    return lockJob(this.#database, name, lock)
  }

  renewJob(name: string, lock: JobLock): Promise<boolean> {
    return renewJob(this.#database, name, lock)
  }

  unlockJob(name: string, token: string, result: unknown): Promise<void> {
    return unlockJob(this.#database, name, token, result)
  }

  jobs(): Promise<JobRecord[]> {
    return listJobs(this.#database)
  }

  // ── clean-up ──

  topics(): Promise<TopicRecord[]> {
    return listTopics(this.#database)
  }

  /** A partition at a time: its rows are no measure. */
  cleanUp(topic: TopicRecord): Promise<CleanUpStep> {
    return cleanUp(this.#database, topic)
  }

  zombies(): Promise<Zombie[]> {
    return listZombies(this.#database)
  }

  forceAdvance(topic: TopicRecord, subscription: SubscriptionRecord): Promise<number> {
    return forceAdvance(this.#database, topic, subscription)
  }

  // ── reference tracking and backfill ──

  setTracking(topic: TopicRecord, tracking: Tracking): Promise<TopicRecord> {
    return setTracking(this.#database, topic, tracking)
  }

  fillTracking(topic: TopicRecord, limit: number): Promise<boolean> {
    return fillTracking(this.#database, topic, limit)
  }

  clearBits(limit: number): Promise<{ cleared: number; more: boolean }> {
    return clearBits(this.#database, limit)
  }

  completion(topic: TopicRecord, query: CompletionQuery): Promise<MessageCompletion[]> {
    return completion(this.#database, topic, query)
  }

  completeOrphans(topic: TopicRecord, olderThanMs: number): Promise<number> {
    return completeOrphans(this.#database, topic, olderThanMs)
  }

  startBackfill(
    topic: TopicRecord,
    subscription: SubscriptionRecord,
    from: StartPosition,
    plan: BackfillPlan,
  ): Promise<BackfillRecord> {
    return startBackfill(this.#database, topic, subscription, from, plan)
  }

  takeBackfill(token: string, ttlMs: number, subscriptionId?: number): Promise<BackfillRecord | null> {
    return takeBackfill(this.#database, token, ttlMs, subscriptionId)
  }

  async backfillBatch(subscriptionId: number, batch: BackfillBatch): Promise<BackfillRecord | 'lost'> {
    const record = await backfillBatch(this.#database, subscriptionId, batch)
    if (record !== 'lost') this.#wakeUps.send(record.topicId)
    return record
  }

  setBackfillStatus(
    topic: TopicRecord,
    subscription: Pick<SubscriptionRecord, 'id' | 'group'>,
    status: 'RUNNING' | 'CANCELLED' | 'FAILED',
    error?: string,
  ): Promise<BackfillRecord> {
    return setBackfillStatus(this.#database, topic, subscription, status, error)
  }

  backfill(subscriptionId: number): Promise<BackfillRecord | undefined> {
    return findBackfill(this.#database, subscriptionId)
  }

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
    return resetCursor(this.#database, topic, subscription, to, plan)
  }

  find(topic: TopicRecord, messageId: string): Promise<number | undefined> {
    return find(this.#database, topic, messageId)
  }

  browse(topic: TopicRecord, query: BrowseQuery): Promise<BrowsePage> {
    return browse(this.#database, topic, query)
  }

  tail(topic: TopicRecord, place: string | null, limit: number): Promise<TailPage> {
    return tail(this.#database, topic, place, limit)
  }

  deadLetter(topic: TopicRecord, id: number): Promise<DeadLetter | undefined> {
    return findDeadLetter(this.#database, topic, id)
  }

  redrive(topic: TopicRecord, selection: DeadLetterSelection): Promise<Redriven> {
    return redrive(this.#database, topic, selection)
  }

  discard(topic: TopicRecord, selection: DeadLetterSelection): Promise<number> {
    return discard(this.#database, topic, selection)
  }

  facts(topic: TopicRecord): Promise<TopicFacts> {
    return topicFacts(this.#database, topic)
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

  dropNamespace(): Promise<void> {
    return dropNamespace(this.#database)
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    await Promise.all([
      this.#partitions.idle(),
      this.#pruner.idle(),
      this.#wakeUps.close(),
      this.#listener.close(),
      this.#heartbeats.close(),
    ])
    await this.#database.close()
  }
}
