import type { TopicConfig, Tracking } from '../../topic-config.ts'
import type { Capabilities } from '../capabilities.ts'
import type {
  BackfillBatch,
  BackfillPlan,
  BackfillRecord,
  CompletionQuery,
  MessageCompletion,
  SubscriptionSettings,
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
import { Claimer } from './claim.ts'
import { completeOrphans, completion } from './completion.ts'
import { Database, type Logger } from './database.ts'
import { mapError } from './database-errors.ts'
import { listDeadLetters } from './dead-letters.ts'
import { DedupePruner } from './dedupe.ts'
import { describeTopic } from './describe.ts'
import { dropNamespace } from './drop-namespace.ts'
import { Listener } from './listener.ts'
import { migrate } from './migrate.ts'
import { Partitions } from './partitions.ts'
import { Publisher } from './publish.ts'
import { extend, settle } from './settle.ts'
import { setStatus, subscribe } from './subscribe.ts'
import { configureTopic, findTopic } from './topics.ts'
import { fillTracking, setTracking } from './tracking.ts'
import { WakeUps } from './wake-ups.ts'

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

  watch(wake: (topicId: number | null) => void): void {
    this.#listener.watch(wake)
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
    await Promise.all([this.#partitions.idle(), this.#pruner.idle(), this.#wakeUps.close(), this.#listener.close()])
    await this.#database.close()
  }
}
