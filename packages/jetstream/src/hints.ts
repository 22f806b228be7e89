import type { Connection } from './nats/connection.ts'
import type { Names } from './nats/names.ts'

/** Consumers that are woken this often are awake. */
const EVERY_MS = 5

type Topic = { underWay: number; toldAt: number; isOwed: boolean }

/**
 * Wakes the consumers of a topic in every process. While several publishes are under way, one hint serves those that end
 * within a few milliseconds: each costs a write here, and a message to every process.
 */
export class Hints {
  readonly #connection: Connection
  readonly #names: Names
  readonly #topics = new Map<number, Topic>()

  constructor(connection: Connection, names: Names) {
    this.#connection = connection
    this.#names = names
  }

  /** At once. */
  tell(topicId: number): void {
    this.#connection.tell(this.#names.hint(topicId), '')
  }

  publishing(topicId: number): void {
    const topic = this.#topics.get(topicId)
    if (topic === undefined) this.#topics.set(topicId, { underWay: 1, toldAt: Number.NEGATIVE_INFINITY, isOwed: false })
    else topic.underWay++
  }

  /** The publish has ended. */
  published(topicId: number, isStored: boolean): void {
    const topic = this.#topics.get(topicId)
    if (topic === undefined) return
    topic.underWay--
    topic.isOwed ||= isStored
    const now = performance.now()
    if (topic.isOwed && (topic.underWay === 0 || now - topic.toldAt >= EVERY_MS)) {
      this.tell(topicId)
      topic.toldAt = now
      topic.isOwed = false
    }
    if (topic.underWay === 0) this.#topics.delete(topicId)
  }
}
