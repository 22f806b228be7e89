import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { reasonOf, toError } from '../errors/failure.ts'
import { ClosedError, DatabaseError } from '../errors.ts'
import type { Instrumentation } from '../observe/instrumentation.ts'
import type { BackfillRecord } from '../stores/backfills.ts'
import type { Store } from '../stores/store.ts'
import type { SubscriptionRecord, SubscriptionRef } from '../stores/subscription-record.ts'
import type { TopicRecord } from '../stores/topic-record.ts'
import { BackfillThrottle } from './backfill-throttle.ts'
import { ProgressEvents } from './progress-events.ts'

/** Up to this many messages, start() of the group waits for its backfill. */
const AWAITED_MESSAGES = 100_000
/** ... unless its rate makes it last longer than this: `poll('5s')` of a new reader waits for it too. */
const AWAITED_S = 2
/** If its process is killed, a backfill is taken over after this time. */
const LEASE_MS = 30_000

type Parts = {
  readonly store: Store
  readonly instrumentation: Instrumentation
  readonly wake: (topicId: number) => void
}
type Ended = BackfillRecord['status'] | 'LOST'

/**
 * The backfills that this process runs, each batch by batch under a lease: if the process is killed, another one
 * continues at the checkpoint.
 */
export class BackfillRunner {
  readonly #parts: Parts
  readonly #running = new Set<Promise<unknown>>()
  readonly #stopping = new AbortController()

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Runs the group's backfill if no process does: waits for a short one, and runs a long one in the background. */
  async start(topic: TopicRecord, subscription: SubscriptionRecord): Promise<void> {
    // A backfill requested while this process closes is taken over by another process.
    if (topic.config.tracking !== 'reference' || this.#stopping.signal.aborted) return
    await this.#track(this.#begin(topic, subscription))
  }

  async #begin(topic: TopicRecord, subscription: SubscriptionRecord): Promise<void> {
    const token = randomUUID()
    const record = await this.#take(topic, subscription, token)
    if (record === null) return
    const running = this.#track(this.#run(topic, record, token, this.#stopping.signal))
    const awaited = Math.min(AWAITED_MESSAGES, record.settings.maxPerSecond * AWAITED_S)
    if (record.upperId - record.checkpointId <= awaited) await running
  }

  /** Takes over a backfill that no process runs, of any group, and completes it; undefined if there is none. */
  async takeOver(
    topics: readonly TopicRecord[],
    signal: AbortSignal,
    onBatch: () => Promise<void>,
  ): Promise<Ended | undefined> {
    const token = randomUUID()
    const record = await this.#parts.store.backfills.take(token, LEASE_MS)
    const topic = topics.find(({ id }) => id === record?.topicId)
    if (record === null || topic === undefined) return undefined
    const either = AbortSignal.any([signal, this.#stopping.signal])
    return await this.#track(this.#run(topic, record, token, either, onBatch))
  }

  /** Waits for batches in progress; other processes may take over at once. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    // A backfill being taken over at this moment still starts, and ends after its first batch.
    while (this.#running.size > 0) await Promise.allSettled(this.#running)
  }

  /** If it cannot be taken now, another process will take it; the group itself is started. */
  async #take(topic: TopicRecord, subscription: SubscriptionRecord, token: string): Promise<BackfillRecord | null> {
    try {
      return await this.#parts.store.backfills.take(token, LEASE_MS, subscription)
    } catch (error) {
      const where = { topic: topic.name, group: subscription.group }
      this.#parts.instrumentation.emit('error', { ...where, action: 'backfill', error: toError(error) })
      return null
    }
  }

  async #run(
    topic: TopicRecord,
    record: BackfillRecord,
    token: string,
    signal: AbortSignal,
    onBatch?: () => Promise<void>,
  ): Promise<Ended> {
    const where = { topic: topic.name, group: record.group }
    try {
      const { status, processed } = await this.#batches(topic, record, token, signal, onBatch)
      if (status !== 'RUNNING' && status !== 'LOST') {
        this.#parts.instrumentation.emit('backfill-ended', { ...where, status, processed })
      }
      return status
    } catch (error) {
      if (error instanceof ClosedError) return 'RUNNING'
      this.#parts.instrumentation.emit('error', { ...where, action: 'backfill', error: toError(error) })
      // An unreachable database may be reachable again for the process that takes over.
      if (error instanceof DatabaseError && error.code !== 'TIDEMARK_DATABASE') return 'RUNNING'
      return await this.#fail(topic, record, error)
    }
  }

  async #batches(
    topic: TopicRecord,
    record: BackfillRecord,
    token: string,
    signal: AbortSignal,
    onBatch: (() => Promise<void>) | undefined,
  ): Promise<{ status: Ended; processed: number }> {
    const { store, instrumentation, wake } = this.#parts
    const throttle = new BackfillThrottle(record.settings)
    const progress = new ProgressEvents(instrumentation, { topic: topic.name, group: record.group }, record)
    let at = record
    while (at.status === 'RUNNING') {
      const limit = throttle.batch
      // Together: if both failed separately, one rejection would be unhandled.
      const [probe, batch] = await Promise.all([
        timed(store.log.probe()),
        timed(
          store.backfills.runBatch(record.subscriptionId, { token, limit, ttlMs: LEASE_MS, slowed: throttle.isSlowed }),
        ),
      ])
      if (batch.value === 'lost') return await this.#lost(at)
      const messages = batch.value.checkpointId - at.checkpointId
      at = batch.value
      wake(topic.id)
      progress.note(at)
      await onBatch?.()
      const waitMs = throttle.next({ messages, batchMs: batch.ms, probeMs: probe.ms })
      if (at.status !== 'RUNNING') break
      if (waitMs > 0) await delay(waitMs, undefined, { signal }).catch(() => undefined)
      if (signal.aborted) {
        // An empty batch with an expired lease, so that nobody has to wait for the lease to expire.
        await store.backfills.runBatch(record.subscriptionId, { token, limit: 0, ttlMs: 0 })
        break
      }
    }
    return at
  }

  /** Somebody cancelled it, or another process runs it now. */
  async #lost(record: BackfillRecord): Promise<{ status: Ended; processed: number }> {
    const { processed } = record
    const now = await this.#parts.store.backfills.find(ownerOf(record))
    if (now === undefined || now.status === 'RUNNING') return { status: 'LOST', processed }
    return now
  }

  async #fail(topic: TopicRecord, record: BackfillRecord, error: unknown): Promise<Ended> {
    const { store, instrumentation } = this.#parts
    const { group, processed } = record
    try {
      await store.backfills.setStatus(topic, ownerOf(record), 'FAILED', reasonOf(error))
      instrumentation.emit('backfill-ended', { topic: topic.name, group, status: 'FAILED', processed })
      return 'FAILED'
    } catch {
      // The failure was reported; the lease expires and another process tries.
      return 'RUNNING'
    }
  }

  #track<T>(work: Promise<T>): Promise<T> {
    const tracked: Promise<T> = work.finally(() => this.#running.delete(tracked))
    this.#running.add(tracked)
    return tracked
  }
}

const ownerOf = ({ subscriptionId, subscriptionUid, group }: BackfillRecord): SubscriptionRef => ({
  id: subscriptionId,
  uid: subscriptionUid,
  group,
})

async function timed<T>(work: Promise<T>): Promise<{ value: T; ms: number }> {
  const started = performance.now()
  return { value: await work, ms: performance.now() - started }
}
