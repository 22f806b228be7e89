/**
 * Groups of a topic with reference tracking, driven step by step through the store: what a process does automatically.
 */
import { randomUUID } from 'node:crypto'
import { DEFAULT_BACKFILL } from '../backfill/backfill-plan.ts'
import type { BackfillPlan, BackfillRecord } from '../stores/backfills.ts'
import type { ClaimRequest, Lease } from '../stores/leases.ts'
import type { Store } from '../stores/store.ts'
import type { StartPosition, SubscriptionRecord } from '../stores/subscription-record.ts'
import type { TopicRecord } from '../stores/topic-record.ts'
import type { TopicConfig } from '../topic-config.ts'
import type { ConformanceDatabase } from './conformance-store.ts'
import { MISSES, TIMEOUT_MS } from './dying.ts'
import { until } from './until.ts'

const TTL_MS = 60_000

/** One topic and its groups, as one process works on them. */
export class Work {
  readonly store: Store
  topic: TopicRecord
  readonly groups = new Map<string, SubscriptionRecord>()

  constructor(store: Store, topic: TopicRecord) {
    this.store = store
    this.topic = topic
  }

  static async on(store: Store, given: Partial<TopicConfig> = {}): Promise<Work> {
    const config = { semantics: 'pub-sub', tracking: 'reference', ...given } as const
    return new Work(store, await store.topics.configure('events', config))
  }

  async publish(count: number): Promise<number[]> {
    const message = { payload: '1', type: null, key: null, headers: null, messageId: null }
    const published = await this.store.log.publish(this.topic, new Array(count).fill(message))
    return published.map(({ id }) => id)
  }

  async subscribe(group: string, from: StartPosition = 'now', plan: Partial<BackfillPlan> = {}): Promise<void> {
    const backfill = { ...DEFAULT_BACKFILL, ...plan }
    this.groups.set(group, await this.store.subscriptions.subscribe(this.topic, group, from, { backfill }))
  }

  group(name: string): SubscriptionRecord {
    const subscription = this.groups.get(name)
    if (subscription === undefined) throw new Error(`There is no group '${name}'`)
    return subscription
  }

  async claim(group: string, limit = 100): Promise<Lease | null> {
    const subscription = this.group(group)
    const { topic } = this
    const request: ClaimRequest = {
      topic,
      subscription,
      consumer: 'c',
      limit,
      suspects: 'alone',
      leaseMs: null,
      sweep: true,
      forget: [],
      shared: false,
    }
    return (await this.store.leases.claim(request)).lease
  }

  async ack(lease: Lease): Promise<void> {
    const { token, size } = lease
    await this.store.leases.settle([{ token, size, maxAttempts: 5, acks: 'all', nacks: [], releases: [] }])
  }

  /** Dead-letters it directly. */
  async bury({ token, size, messages, slots }: Lease): Promise<void> {
    const error = { name: 'Error', message: 'refused' }
    const nacks = messages.map((_, index) => ({ slot: slots?.[index] ?? index, delayMs: 0, error }))
    await this.store.leases.settle([{ token, size, maxAttempts: 1, acks: [], nacks, releases: [] }])
  }

  /** Claims and acks until nothing is left; returns the ids in delivery order. */
  async drain(group: string, limit = 100): Promise<number[]> {
    const ids: number[] = []
    for (;;) {
      const lease = await this.claim(group, limit)
      if (lease === null) return ids
      ids.push(...lease.messages.map(({ id }) => id))
      await this.ack(lease)
    }
  }

  /** Runs the group's backfill to its end, or some of its batches in a process that is then killed. */
  async backfill(group: string, limit = 1_000, batches = Number.POSITIVE_INFINITY): Promise<BackfillRecord | 'lost'> {
    const token = randomUUID()
    const taken = await this.store.backfills.take(token, TTL_MS, this.group(group))
    if (taken === null) return 'lost'
    let record: BackfillRecord | 'lost' = taken
    for (let batch = 0; batch < batches && record !== 'lost' && record.status === 'RUNNING'; batch++) {
      record = await this.store.backfills.runBatch(this.group(group).id, { token, limit, ttlMs: TTL_MS })
    }
    return record
  }

  async switchTo(tracking: 'offset' | 'reference'): Promise<void> {
    this.topic = await this.store.tracking.switch(this.topic, tracking)
  }

  /** By message: which groups must process it, and which have. */
  async completion(): Promise<Map<number, { required: string; completed: string }>> {
    const query = { after: 0, limit: 1_000_000, unfinished: false }
    const rows = await this.store.tracking.completion(this.topic, query)
    return new Map(
      rows.map(({ id, required, completed }) => [id, { required: required.join(), completed: completed.join() }]),
    )
  }

  async clearAll(limit = 1_000): Promise<number> {
    let sum = 0
    for (;;) {
      const { cleared, more } = await this.store.tracking.clearBits(limit)
      sum += cleared
      if (!more) return sum
    }
  }
}

/** Its heartbeats have stopped for long enough, and the detector notices. */
export async function die(database: ConformanceDatabase, work: Work, group: string): Promise<void> {
  const { id } = work.group(group)
  for (let miss = 0; miss < MISSES; miss++) {
    await database.ageGroups(TIMEOUT_MS + 1_000, group)
    const { dead } = await work.store.heartbeats.detectDead()
    if (dead.some(({ subscription }) => subscription.id === id)) return
  }
  throw new Error(`Group '${group}' did not die`)
}

/** As the clean-up of subscriptions does. */
export async function remove(work: Work, group: string): Promise<void> {
  await work.store.subscriptions.remove(work.topic, work.group(group))
}

/** Resurrected by its heartbeat or, with a limit, by an operator. */
export async function resurrect(work: Work, group: string, limit?: number): Promise<void> {
  const subscription = work.group(group)
  if (limit !== undefined) {
    await work.store.subscriptions.resurrect(work.topic, subscription, {
      mode: 'continue',
      limit,
      plan: DEFAULT_BACKFILL,
    })
    return
  }
  const { id: subscriptionId, uid: subscriptionUid } = subscription
  const beat = { subscriptionId, subscriptionUid, processed: 0, failed: 0, filtered: 0 }
  const [result] = await work.store.heartbeats.send([beat])
  if (!result?.resurrected) throw new Error(`Group '${group}' did not come back`)
}

/** Subscribes 'email', 'analytics' and 'inventory'. */
export async function three(work: Work): Promise<Work> {
  for (const name of ['email', 'analytics', 'inventory']) await work.subscribe(name)
  return work
}

/** How many messages wait for some group. */
export async function unfinished(work: Work): Promise<number> {
  return (await work.store.tracking.completion(work.topic, { after: 0, limit: 10_000, unfinished: true })).length
}

/** Transactions of other tests on the server may have to end first. */
export async function cleared(work: Work): Promise<void> {
  await until(() => work.clearAll(), { what: 'the bits to be cleared' })
}
