import type { TopicConfig } from '../../topic-config.ts'
import type { Capabilities } from '../capabilities.ts'
import type { CleanUpStep, SubscriptionSettings, Zombie } from '../fan-out-store.ts'
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
import { Claimer } from './claim.ts'
import { cleanUp } from './clean-up.ts'
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
import { configureTopic, findTopic, listTopics } from './topics.ts'
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
