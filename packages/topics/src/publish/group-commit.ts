import { toError } from '../errors/failure.ts'
import {
  BatchTooLargeError,
  DatabaseLockedError,
  DatabaseTimeoutError,
  DatabaseUnreachableError,
  MessageIdPendingError,
  OutcomeUnknownError,
} from '../errors.ts'
import type { Instrumentation } from '../observe/instrumentation.ts'
import { isFault } from '../observe/outages.ts'
import type { OutgoingMessage, PublishedMessage } from '../stores/log.ts'
import type { Store } from '../stores/store.ts'
import type { TopicRecord } from '../stores/topic-record.ts'
import { CommitHints } from './commit-hints.ts'
import { type Entry, PendingPublishes, type StoreBatch } from './pending-publishes.ts'

/** Maximum size of a transaction, so that a burst doesn't become one giant statement. */
const MOST_MESSAGES = 1_000
const MOST_BYTES = 4 * 1024 * 1024
/** Fewer wait for the transaction in flight, and share the next one: that costs less than one of their own. */
const WORTH_ONE = MOST_MESSAGES / 2

/**
 * Group commit: publishes that wait at the same time share one transaction, each with its own result. One transaction
 * per topic is in flight at a time, or a few large ones where the store keeps them in order, so messages are stored in
 * the order in which publish was called.
 */
export class GroupCommit {
  readonly #store: Store
  readonly #instrumentation: Instrumentation
  readonly #wake: (topicId: number) => void
  readonly #queues = new Map<number, TopicQueue>()
  readonly #hints: CommitHints
  /** The highest id stored by this process, by the topic's uid. */
  readonly #highest = new Map<number, number>()

  constructor(store: Store, instrumentation: Instrumentation, wake: (topicId: number) => void) {
    this.#store = store
    this.#instrumentation = instrumentation
    this.#wake = wake
    this.#hints = new CommitHints(topicId => {
      wake(topicId)
      store.hint(topicId)
    })
  }

  publish(topic: TopicRecord, messages: readonly OutgoingMessage[]): Promise<PublishedMessage[]> {
    let queue = this.#queues.get(topic.id)
    if (queue === undefined) {
      const atOnce = this.#store.capabilities.publishesAtOnce ?? 1
      queue = new TopicQueue((record, batch) => this.#storeBatch(record, batch), atOnce)
      this.#queues.set(topic.id, queue)
    }
    return queue.add(topic, messages)
  }

  /** Inside the caller's transaction: not grouped, and not visible before it commits. */
  async publishIn(tx: unknown, topic: TopicRecord, messages: readonly OutgoingMessage[]): Promise<PublishedMessage[]> {
    const before = this.#highest.get(topic.uid) ?? 0
    return this.#noted(topic, before, await this.#told(topic, this.#store.log.publish(topic, messages, tx)))
  }

  /** The same, stored when it returns; undefined: the store has no synchronous statements. */
  publishInSync(tx: unknown, topic: TopicRecord, messages: readonly OutgoingMessage[]): PublishedMessage[] | undefined {
    const published = this.#store.log.publishSync?.(topic, messages, tx)
    return published && this.#noted(topic, this.#highest.get(topic.uid) ?? 0, published)
  }

  #noted(topic: TopicRecord, before: number, published: PublishedMessage[]): PublishedMessage[] {
    this.#compare(topic, published, before)
    this.#count(topic, published)
    this.#hints.published(topic.id)
    return published
  }

  /** Resolves when everything published before has been stored or refused. */
  async drain(): Promise<void> {
    this.#hints.stop()
    await Promise.all([...this.#queues.values()].map(queue => queue.drain()))
  }

  async #storeBatch(topic: TopicRecord, messages: readonly OutgoingMessage[]): Promise<PublishedMessage[]> {
    const started = performance.now()
    const before = this.#highest.get(topic.uid) ?? 0
    const published = await this.#told(topic, this.#store.log.publish(topic, messages))
    const highest = this.#compare(topic, published, before)
    this.#highest.set(topic.uid, Math.max(highest, this.#highest.get(topic.uid) ?? 0))
    this.#instrumentation.metrics.publish.record(performance.now() - started)
    this.#count(topic, published)
    this.#wake(topic.id)
    return published
  }

  /**
   * Ids only rise, whoever publishes: an id that is not above those stored before this publish began was handed out
   * twice. Returns the highest known id.
   */
  #compare(topic: TopicRecord, published: readonly PublishedMessage[], before: number): number {
    const first = published.find(({ duplicate }) => !duplicate)?.id
    if (first === undefined) return before
    if (first <= before) this.#instrumentation.emit('database-rewound', { topic: topic.name, sign: 'message' })
    return published.findLast(({ duplicate }) => !duplicate)?.id ?? first
  }

  /** The publisher gets the error too; the caller's own mistakes are not reported elsewhere. */
  #told<T>({ name }: TopicRecord, publishing: Promise<T>): Promise<T> {
    return publishing.catch((error: unknown) => {
      if (isFault(error)) this.#instrumentation.emit('error', { topic: name, action: 'publish', error: toError(error) })
      throw error
    })
  }

  #count(topic: TopicRecord, published: readonly PublishedMessage[]): void {
    let duplicates = 0
    for (const { duplicate } of published) if (duplicate) duplicates++
    this.#instrumentation.emit('published', { topic: topic.name, count: published.length - duplicates, duplicates })
  }
}

/**
 * Retrying each alone would not help: after a lost connection it is unknown whether it was stored, and a retry might
 * store it twice; for a locked database each would wait once more.
 */
const isForAll = (error: unknown): boolean =>
  [OutcomeUnknownError, DatabaseUnreachableError, DatabaseLockedError, DatabaseTimeoutError].some(
    each => error instanceof each,
  )

function halves<T>(all: readonly T[]): (readonly T[])[] {
  const middle = Math.ceil(all.length / 2)
  return [all.slice(0, middle), all.slice(middle)]
}

class TopicQueue {
  readonly #storeBatch: StoreBatch
  readonly #pending: PendingPublishes
  readonly #atOnce: number
  #waiting: Entry[] = []
  #waitingMessages = 0
  #running: Promise<void> | undefined
  #arrival: PromiseWithResolvers<void> | undefined

  constructor(storeBatch: StoreBatch, atOnce: number) {
    this.#storeBatch = storeBatch
    this.#atOnce = atOnce
    this.#pending = new PendingPublishes(storeBatch)
  }

  add(topic: TopicRecord, messages: readonly OutgoingMessage[]): Promise<PublishedMessage[]> {
    return new Promise((resolve, reject) => {
      const entry = { messages, resolve, reject }
      if (this.#pending.has(entry)) return this.#pending.add(topic, entry)
      this.#waiting.push(entry)
      this.#waitingMessages += messages.length
      this.#arrival?.resolve()
      this.#running ??= this.#run(topic)
    })
  }

  async drain(): Promise<void> {
    await this.#running
    await this.#pending.stop()
  }

  async #run(topic: TopicRecord): Promise<void> {
    // A turn of the event loop, so that simultaneous publishes share a transaction.
    await new Promise(resolve => setImmediate(resolve))
    if (this.#atOnce > 1) await this.#runSeveral(topic)
    while (this.#waiting.length > 0) await this.#flush(topic, this.#take())
    this.#running = undefined
  }

  /** Until nothing is under way and nothing waits. */
  async #runSeveral(topic: TopicRecord): Promise<void> {
    const underWay = new Set<Promise<void>>()
    for (;;) {
      const isWorthOne = underWay.size < this.#atOnce && this.#waitingMessages >= WORTH_ONE
      if (this.#waiting.length > 0 && (underWay.size === 0 || isWorthOne)) {
        const flushing: Promise<void> = this.#flush(topic, this.#take()).finally(() => underWay.delete(flushing))
        underWay.add(flushing)
      } else if (underWay.size === 0) return
      else {
        this.#arrival = Promise.withResolvers()
        await Promise.race([...underWay, this.#arrival.promise])
      }
    }
  }

  #take(): Entry[] {
    let messages = 0
    let bytes = 0
    let count = 0
    for (const entry of this.#waiting) {
      messages += entry.messages.length
      for (const { payload } of entry.messages) bytes += payload.length
      if (count > 0 && (messages > MOST_MESSAGES || bytes > MOST_BYTES)) break
      count++
    }
    const taken = this.#waiting.splice(0, count)
    this.#waitingMessages -= taken.reduce((sum, entry) => sum + entry.messages.length, 0)
    return taken
  }

  async #flush(topic: TopicRecord, entries: readonly Entry[]): Promise<void> {
    try {
      const only = entries.length === 1 ? entries[0] : undefined
      const published = await this.#storeBatch(topic, only?.messages ?? entries.flatMap(entry => entry.messages))
      let from = 0
      for (const { messages, resolve } of entries) {
        resolve(published.slice(from, from + messages.length))
        from += messages.length
      }
    } catch (error) {
      await this.#fail(topic, entries, error)
    }
  }

  /** A refused transaction stored nothing, so each caller is tried alone and gets its own answer. */
  async #fail(topic: TopicRecord, entries: readonly Entry[], error: unknown): Promise<void> {
    if (error instanceof MessageIdPendingError) return await this.#part(topic, entries)
    if (entries.length > 1 && error instanceof BatchTooLargeError) {
      for (const half of halves(entries)) await this.#flush(topic, half)
      return
    }
    if (entries.length > 1 && !isForAll(error)) {
      for (const entry of entries) await this.#flush(topic, [entry])
      return
    }
    for (const { reject } of entries) reject(error)
  }

  /** One of them has to wait for another's transaction: it is found by bisection, in order, and waits on its own. */
  async #part(topic: TopicRecord, entries: readonly Entry[]): Promise<void> {
    const [only] = entries
    if (entries.length === 1 && only !== undefined) return this.#pending.add(topic, only)
    for (const half of halves(entries)) {
      for (const entry of half) if (this.#pending.has(entry)) this.#pending.add(topic, entry)
      const others = half.filter(entry => !this.#pending.holds(entry))
      if (others.length > 0) await this.#flush(topic, others)
    }
  }
}
