import { DatabaseUnreachableError } from '../errors.ts'
import type { Instrumentation } from '../instrumentation.ts'
import type { OutgoingMessage, PublishedMessage, Store, TopicRecord } from '../stores/store.ts'
import { CommitHints } from './commit-hints.ts'

/** One transaction holds at most this much, so that a burst doesn't become one giant statement. */
const MOST_MESSAGES = 1_000
const MOST_BYTES = 4 * 1024 * 1024

type Entry = {
  readonly messages: readonly OutgoingMessage[]
  readonly resolve: (published: PublishedMessage[]) => void
  readonly reject: (error: unknown) => void
}

/**
 * Group commit: publishes that wait at the same time share one transaction, each with a result of its own. One
 * transaction per topic is under way at a time, so messages are stored in the order publish was called.
 */
export class Publisher {
  readonly #store: Store
  readonly #instrumentation: Instrumentation
  readonly #wake: (topicId: number) => void
  readonly #queues = new Map<number, TopicQueue>()
  readonly #hints: CommitHints

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
      queue = new TopicQueue((record, batch) => this.#storeBatch(record, batch))
      this.#queues.set(topic.id, queue)
    }
    return queue.add(topic, messages)
  }

  /** Inside the caller's transaction: no grouping, and nothing to be seen before it commits. */
  async publishIn(tx: unknown, topic: TopicRecord, messages: readonly OutgoingMessage[]): Promise<PublishedMessage[]> {
    const published = await this.#store.publish(topic, messages, tx)
    this.#count(topic, published)
    this.#hints.published(topic.id)
    return published
  }

  /** Resolves when all that was published before has been stored or refused. */
  async drain(): Promise<void> {
    this.#hints.stop()
    await Promise.all([...this.#queues.values()].map(queue => queue.drain()))
  }

  async #storeBatch(topic: TopicRecord, messages: readonly OutgoingMessage[]): Promise<PublishedMessage[]> {
    const started = performance.now()
    const published = await this.#store.publish(topic, messages)
    this.#instrumentation.metrics.publish.record(performance.now() - started)
    this.#count(topic, published)
    this.#wake(topic.id)
    return published
  }

  #count(topic: TopicRecord, published: readonly PublishedMessage[]): void {
    let duplicates = 0
    for (const { duplicate } of published) if (duplicate) duplicates++
    this.#instrumentation.emit('published', { topic: topic.name, count: published.length - duplicates, duplicates })
  }
}

type StoreBatch = (topic: TopicRecord, messages: readonly OutgoingMessage[]) => Promise<PublishedMessage[]>

class TopicQueue {
  readonly #storeBatch: StoreBatch
  #waiting: Entry[] = []
  #running: Promise<void> | undefined

  constructor(storeBatch: StoreBatch) {
    this.#storeBatch = storeBatch
  }

  add(topic: TopicRecord, messages: readonly OutgoingMessage[]): Promise<PublishedMessage[]> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ messages, resolve, reject })
      this.#running ??= this.#run(topic)
    })
  }

  async drain(): Promise<void> {
    await this.#running
  }

  async #run(topic: TopicRecord): Promise<void> {
    // A turn of the event loop, so that callers who publish together travel together.
    await new Promise(resolve => setImmediate(resolve))
    while (this.#waiting.length > 0) await this.#flush(topic, this.#take())
    this.#running = undefined
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
    return this.#waiting.splice(0, count)
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

  /** A refused transaction stored nothing, so each caller is tried alone and gets an answer of its own. */
  async #fail(topic: TopicRecord, entries: readonly Entry[], error: unknown): Promise<void> {
    // With a lost connection it is unknown whether it was stored: trying again might store it twice.
    const mayBeStored = error instanceof DatabaseUnreachableError
    if (entries.length > 1 && !mayBeStored) {
      for (const entry of entries) await this.#flush(topic, [entry])
      return
    }
    for (const { reject } of entries) reject(error)
  }
}
