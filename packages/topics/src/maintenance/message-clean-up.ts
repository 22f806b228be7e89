import { setImmediate as nextTurn } from 'node:timers/promises'
import { toError } from '../errors/failure.ts'
import { NamespaceGoneError, TopicNotFoundError } from '../errors.ts'
import type { Instrumentation } from '../observe/instrumentation.ts'
import type { CleanUpStep, Log } from '../stores/log.ts'
import type { TopicRecord } from '../stores/topic-record.ts'
import type { Topics } from '../stores/topics.ts'
import type { Job, JobContext } from './job.ts'

export type MessageCleanUpOptions = { readonly everyMs: number; readonly batchSize: number }

type CleaningStore = { readonly topics: Pick<Topics, 'list'>; readonly log: Pick<Log, 'cleanUp'> }

/** Removes messages past their retention, topic by topic, in short steps: others get their turn in between. */
export class MessageCleanUp implements Job {
  readonly name = 'messages'
  readonly goesByAge = true
  readonly everyMs: number
  readonly #batchSize: number
  readonly #store: CleaningStore
  readonly #instrumentation: Instrumentation

  constructor(store: CleaningStore, instrumentation: Instrumentation, { everyMs, batchSize }: MessageCleanUpOptions) {
    this.#store = store
    this.#instrumentation = instrumentation
    this.everyMs = everyMs
    this.#batchSize = batchSize
  }

  async run(context: JobContext): Promise<Record<string, number>> {
    const total = { removed: 0, partitionsDropped: 0, lost: 0, failed: 0 }
    for (const topic of await this.#store.topics.list()) {
      if (context.signal.aborted) break
      try {
        const { removed, partitionsDropped, lost } = await this.#cleanUp(topic, context)
        total.removed += removed
        total.partitionsDropped += partitionsDropped
        total.lost += lost
      } catch (error) {
        if (context.signal.aborted) break
        if (error instanceof NamespaceGoneError) throw error
        // Deleted since it was listed.
        if (error instanceof TopicNotFoundError) continue
        // A failing topic must not affect the others.
        total.failed++
        this.#instrumentation.emit('error', { topic: topic.name, action: 'clean up', error: toError(error) })
      }
    }
    return total
  }

  async #cleanUp(topic: TopicRecord, context: JobContext): Promise<Totals> {
    const totals: Totals = { removed: 0, partitionsDropped: 0, lost: 0 }
    try {
      for (let more = true; more && !context.signal.aborted; ) {
        // SQLite answers synchronously: without this, all steps together would block the event loop.
        await nextTurn()
        const step = await this.#store.log.cleanUp(topic, this.#batchSize)
        totals.removed += step.removed
        totals.partitionsDropped += step.partitionsDropped
        totals.lost += this.#tellLost(topic, step)
        more = step.more
        if (more) await context.renew()
      }
    } finally {
      const { removed, partitionsDropped } = totals
      if (removed + partitionsDropped > 0) {
        this.#instrumentation.emit('clean-up', { topic: topic.name, count: removed, partitionsDropped })
      }
    }
    return totals
  }

  #tellLost({ name }: TopicRecord, { lost }: CleanUpStep): number {
    for (const { group, count } of lost) {
      this.#instrumentation.emit('messages-lost', { topic: name, group, count, reason: 'max-retention' })
    }
    return lost.reduce((sum, { count }) => sum + count, 0)
  }
}

type Totals = { removed: number; partitionsDropped: number; lost: number }
