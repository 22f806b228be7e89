import type { Instrumentation } from '../observe/instrumentation.ts'
import type { Store } from '../stores/store.ts'
import type { Job, JobContext } from './job.ts'

/** Rows of a bitmap table per transaction: a few milliseconds each. */
const PAGE = 10_000

/** Finds groups that have fallen silent and frees what was kept for them; reports topics without subscribers. */
export class DeadGroups implements Job {
  readonly name = 'dead-groups'
  readonly goesByAge = true
  readonly everyMs: number
  readonly #store: Store
  readonly #instrumentation: Instrumentation
  /** Reported, and still without a subscription. */
  #unsubscribed = new Set<string>()

  constructor(store: Store, instrumentation: Instrumentation, everyMs: number) {
    this.#store = store
    this.#instrumentation = instrumentation
    this.everyMs = everyMs
  }

  async run(context: JobContext): Promise<Record<string, number>> {
    const { missed, dead } = await this.#detect()
    const unsubscribed = await this.#reportUnsubscribed()
    const bitsCleared = await this.#clearBits(context)
    return { missed, dead, unsubscribed, bitsCleared }
  }

  async #detect(): Promise<{ missed: number; dead: number }> {
    const { missed, dead } = await this.#store.heartbeats.detectDead()
    for (const { topic, subscription, misses, of } of missed) {
      this.#instrumentation.emit('group-missed', { topic: topic.name, group: subscription.group, misses, of })
    }
    for (const { topic, subscription, silentMs } of dead) {
      this.#instrumentation.emit('group-dead', { topic: topic.name, group: subscription.group, silentMs })
    }
    return { missed: missed.length, dead: dead.length }
  }

  /** Reported once each time a topic loses its last subscription. */
  async #reportUnsubscribed(): Promise<number> {
    const topics = await this.#store.inspection.unsubscribedTopics()
    for (const { topic, messages, oldestAt } of topics) {
      if (this.#unsubscribed.has(topic)) continue
      this.#instrumentation.emit('topic-unsubscribed', { topic, messages, oldestAt: new Date(oldestAt) })
    }
    this.#unsubscribed = new Set(topics.map(({ topic }) => topic))
    return topics.length
  }

  /** Clears bits of all dead groups, not only of those found now, so that an interrupted run is simply continued. */
  async #clearBits({ renew, signal }: JobContext): Promise<number> {
    let total = 0
    for (let more = true; more && !signal.aborted; ) {
      const page = await this.#store.tracking.clearBits(PAGE)
      total += page.cleared
      more = page.more
      await renew()
    }
    return total
  }
}
