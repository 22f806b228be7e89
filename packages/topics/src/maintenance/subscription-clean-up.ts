import { InvalidTransitionError } from '../errors.ts'
import type { Instrumentation } from '../observe/instrumentation.ts'
import type { Store } from '../stores/store.ts'
import type { SubscriptionRecord } from '../stores/subscription-record.ts'
import type { Zombie } from '../stores/subscriptions.ts'
import type { TopicRecord } from '../stores/topic-record.ts'
import type { Job, JobContext } from './job.ts'

const EVERY_MS = 3_600_000

/** Removes subscriptions that ended long ago, and reports live ones that have stopped moving. */
export class SubscriptionCleanUp implements Job {
  readonly name = 'subscriptions'
  readonly goesByAge = true
  readonly everyMs = EVERY_MS
  readonly #store: Store
  readonly #instrumentation: Instrumentation
  readonly #retentionMs: number

  constructor(store: Store, instrumentation: Instrumentation, retentionMs: number) {
    this.#store = store
    this.#instrumentation = instrumentation
    this.#retentionMs = retentionMs
  }

  async run(context: JobContext): Promise<Record<string, number>> {
    const removed = await this.#removeEnded(context)
    const { zombies, lost } = await this.#handleZombies(context)
    return { removed, zombies, lost }
  }

  async #removeEnded({ renew, signal }: JobContext): Promise<number> {
    let removed = 0
    for (const { topic, subscription } of await this.#store.subscriptions.ended(this.#retentionMs)) {
      if (signal.aborted) break
      if (await this.#remove(topic, subscription)) removed++
      await renew()
    }
    return removed
  }

  /** False if it has become active again since it was listed. */
  async #remove(topic: TopicRecord, subscription: SubscriptionRecord): Promise<boolean> {
    try {
      await this.#store.subscriptions.remove(topic, subscription)
      return true
    } catch (error) {
      if (error instanceof InvalidTransitionError) return false
      throw error
    }
  }

  async #handleZombies({ renew, signal }: JobContext): Promise<{ zombies: number; lost: number }> {
    const zombies = await this.#store.subscriptions.zombies()
    let lost = 0
    for (const zombie of zombies) {
      if (signal.aborted) break
      lost += await this.#handleZombie(zombie)
      await renew()
    }
    return { zombies: zombies.length, lost }
  }

  /** Always reported, moved on only if its topic says so. */
  async #handleZombie({ topic, subscription, movedAt, waiting }: Zombie): Promise<number> {
    const where = { topic: topic.name, group: subscription.group }
    this.#instrumentation.emit('zombie', { ...where, movedAt: new Date(movedAt), waiting })
    if (!topic.config.advanceZombies) return 0
    const count = await this.#store.subscriptions.forceAdvance(topic, subscription)
    if (count > 0) this.#instrumentation.emit('messages-lost', { ...where, count, reason: 'zombie-advanced' })
    return count
  }
}
