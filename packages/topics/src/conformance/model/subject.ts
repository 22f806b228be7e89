import assert from 'node:assert/strict'
import { InvalidTransitionError } from '../../errors.ts'
import type { ClaimResult, Lease, Settlement } from '../../stores/leases.ts'
import type { PublishedMessage } from '../../stores/log.ts'
import type { SubscriptionRecord, SubscriptionStatus } from '../../stores/subscription-record.ts'
import type { TopicRecord } from '../../stores/topic-record.ts'
import type { Scenario } from './commands.ts'
import { Ledger } from './ledger.ts'
import {
  type Claimed,
  type ClaimPlan,
  type DeadLetter,
  type Described,
  NACK_ERROR,
  type Plan,
  type Settled,
} from './model.ts'
import type { TestStore } from './test-store.ts'

const HOUR = 3_600_000

type Held = { readonly token: string; readonly group: string; readonly lease: Lease; readonly open: Set<number> }

/** A topic of a store under test: executes what the model is told, and reports the result in the model's terms. */
export class Subject {
  readonly name: string
  readonly ledger: Ledger
  readonly #testStore: TestStore
  readonly #maxAttempts: number
  readonly #topic: TopicRecord
  readonly #subscriptions = new Map<string, SubscriptionRecord>()
  readonly #ids: number[] = []
  readonly #held: Held[] = []

  static async create(testStore: TestStore, topic: string, scenario: Scenario): Promise<Subject> {
    const { semantics, maxAttempts, partitionRows } = scenario
    const record = await testStore.store.topics.configure(topic, {
      semantics,
      maxAttempts,
      partitionRows,
      leaseMs: HOUR,
    })
    return new Subject(testStore, record)
  }

  constructor(testStore: TestStore, topic: TopicRecord) {
    this.name = testStore.name
    this.#testStore = testStore
    this.#topic = topic
    this.#maxAttempts = topic.config.maxAttempts
    this.ledger = new Ledger(this.#maxAttempts)
  }

  /** `numbers`: the messages' numbers in the log, -1 for one that is already there. */
  async publish(
    numbers: readonly number[],
    callerIds: readonly (number | null)[],
  ): Promise<{ n: number; duplicate: boolean }[]> {
    const messages = numbers.map((n, index) => {
      const callerId = callerIds[index] ?? null
      const messageId = callerId === null ? null : `caller-${callerId}`
      return { payload: JSON.stringify({ n }), type: null, key: null, headers: null, messageId }
    })
    const published = await this.#store.log.publish(this.#topic, messages)
    this.#remember(numbers, published)
    return published.map(({ id, duplicate }) => ({ n: this.#ids.indexOf(id), duplicate }))
  }

  async subscribe(
    group: string,
    from: 'beginning' | 'now',
    first: number,
  ): Promise<{ created: boolean; status: string }> {
    const subscription = await this.#store.subscriptions.subscribe(this.#topic, group, from)
    this.#subscriptions.set(group, subscription)
    this.ledger.subscribed(group, first)
    return { created: subscription.created, status: subscription.status }
  }

  async setStatus(group: string, status: SubscriptionStatus): Promise<string> {
    try {
      await this.#store.subscriptions.setStatus(this.#topic, this.#subscription(group), status)
      return 'done'
    } catch (error) {
      if (error instanceof InvalidTransitionError) return error.code
      throw error
    }
  }

  /** `forget`: numbers of leases that nobody will settle again. `isLate`: retries became due since the last claim. */
  async claim(
    group: string,
    plan: ClaimPlan & { shared: boolean },
    { forget, isLate }: { forget: readonly number[]; isLate: boolean },
  ): Promise<Claimed> {
    const subscription = this.#subscription(group)
    if (isLate) await this.#testStore.database.makeRetriesDue({ subscription: subscription.id, onlyDue: true })
    const result = await this.#store.leases.claim({
      ...plan,
      leaseMs: null,
      topic: this.#topic,
      subscription,
      forget: forget.map(number => this.#lease(number).token),
    })
    const { status, takeOvers, deadLettered, lease, waiting } = result
    const takenOver = takeOvers.reduce((sum, { count }) => sum + count, 0)
    if (lease) this.#hold(group, lease)
    const next = lease ? null : toNext(result)
    return { status, takenOver, deadLettered, waiting, lease: lease && toClaimed(lease), next }
  }

  async settle(plans: readonly { readonly lease: number; readonly plan: Plan }[]): Promise<Settled[]> {
    const settlements = plans.map(({ lease, plan }) => this.#settlement(lease, plan))
    const results = await this.#store.leases.settle(settlements)
    return results.map(({ stale, deadLettered, finished }, index) => {
      const plan = plans[index]
      if (plan) this.#note(plan.lease, plan.plan, stale, deadLettered)
      return { stale: ascending(stale), deadLettered: ascending(deadLettered), finished }
    })
  }

  async extend(lease: number): Promise<boolean> {
    return await this.#store.leases.extend(this.#lease(lease).token, HOUR)
  }

  async runOut(lease: number): Promise<void> {
    const { group, token } = this.#lease(lease)
    await this.#testStore.database.expireLeases({
      subscription: this.#subscription(group).id,
      ...(token !== undefined && { token }),
    })
  }

  async makeDue(group: string): Promise<void> {
    await this.#testStore.database.makeRetriesDue({ subscription: this.#subscription(group).id })
  }

  async forgetClosed(group: string): Promise<void> {
    await this.#testStore.database.forgetLeases({ subscription: this.#subscription(group).id, closed: true })
  }

  async restart(): Promise<void> {
    await this.#testStore.restart()
  }

  /** `needed`: the messages each group has not settled yet. No watermark may exceed one of them. */
  async describe(needed: ReadonlyMap<string, readonly number[]>): Promise<Described> {
    const { messagesPublished, groups } = await this.#store.inspection.describe(this.#topic)
    for (const { group, watermark } of groups) {
      this.ledger.watermark(group, watermark)
      for (const n of needed.get(group) ?? []) {
        const id = this.#ids[n] ?? -1
        assert.ok(id > watermark, `${group}: the watermark ${watermark} is not below message ${n}, which is ${id}`)
      }
    }
    // Concurrent writers draw ids that may be rolled back, and PostgreSQL counts those: never too few.
    const published = this.#testStore.countsExactly ? messagesPublished : this.#ids.length
    assert.ok(messagesPublished >= published, `${messagesPublished} of ${published} messages were published`)
    return {
      published,
      groups: groups.map(({ group, status, backlog, inFlight, retries, deadLetters }) => ({
        group,
        status,
        backlog,
        inFlight,
        retries,
        deadLetters,
      })),
    }
  }

  async deadLetters(group: string): Promise<DeadLetter[]> {
    const letters = await this.#store.deadLetters.list(this.#topic, { group, limit: 10_000 })
    const found = letters.map(({ message, attempts, history, error }) => {
      assert.equal(error.name, history.at(-1)?.name)
      assert.equal(this.#ids[numberOf(message.payload)], message.id)
      return {
        n: numberOf(message.payload),
        attempts,
        history: history.map(({ attempt, name }) => ({ attempt, name })),
      }
    })
    this.ledger.dead(
      group,
      found.map(({ n }) => n),
    )
    return found.sort((a, b) => a.n - b.n)
  }

  /** What the watermarks must reach eventually: the last message, unless a transaction stays open. */
  async goal(): Promise<bigint> {
    return (await this.#testStore.database.settlesDown()) ? BigInt(this.#ids.at(-1) ?? 0) : 0n
  }

  async groupsBelow(goal: bigint): Promise<string[]> {
    const { groups } = await this.#store.inspection.describe(this.#topic)
    return groups
      .filter(({ watermark }) => watermark < goal)
      .map(({ group, watermark }) => `${this.name} ${group}: ${watermark}, below ${goal}`)
  }

  get #store() {
    return this.#testStore.store
  }

  #remember(numbers: readonly number[], published: readonly PublishedMessage[]): void {
    for (const [index, { id }] of published.entries()) {
      const n = numbers[index] ?? -1
      if (n < 0) continue
      this.#ids[n] = id
      this.ledger.published(n)
    }
  }

  #hold(group: string, lease: Lease): void {
    const { token, size, messages, slots, versions, attempts } = lease
    assert.equal(messages.length, size)
    assert.deepEqual(
      slots ?? messages.map((_, slot) => slot),
      messages.map((_, slot) => slot),
    )
    this.#held.push({ token, group, lease, open: new Set(messages.keys()) })
    for (const [slot, { payload }] of messages.entries()) {
      this.ledger.delivered(group, numberOf(payload), versions?.[slot] ?? 1, attempts?.[slot] ?? 1)
    }
  }

  #settlement(lease: number, { acks, nacks, releases }: Plan): Settlement {
    return {
      token: this.#lease(lease).token,
      size: this.#lease(lease).lease.size,
      maxAttempts: this.#maxAttempts,
      acks,
      nacks: nacks.map(({ slot, far }) => ({
        slot,
        delayMs: far ? HOUR : 0,
        error: { name: NACK_ERROR, message: '…' },
      })),
      releases,
    }
  }

  /** The first accepted settlement of a slot is the one that counts. */
  #note(number: number, { acks, nacks, releases }: Plan, stale: readonly number[], dead: readonly number[]): void {
    const { group, lease, open } = this.#lease(number)
    const accept = (slot: number, fate: 'open' | 'acked' | 'dead'): void => {
      const message = lease.messages[slot]
      if (message === undefined || stale.includes(slot) || !open.delete(slot)) return
      this.ledger.accepted(group, numberOf(message.payload), lease.versions?.[slot] ?? 1, fate)
    }
    for (const slot of acks === 'all' ? lease.messages.keys() : acks) accept(slot, 'acked')
    for (const { slot } of nacks) accept(slot, dead.includes(slot) ? 'dead' : 'open')
    for (const slot of releases) accept(slot, 'open')
  }

  #subscription(group: string): SubscriptionRecord {
    const subscription = this.#subscriptions.get(group)
    assert.ok(subscription)
    return subscription
  }

  #lease(number: number): Held {
    const held = this.#held[number]
    assert.ok(held, `${this.name} has given ${this.#held.length} leases, not ${number + 1}`)
    return held
  }
}

function toClaimed({ messages, versions, attempts, suspects }: Lease): Claimed['lease'] {
  const slots = messages.map(({ payload }, slot) => ({
    n: numberOf(payload),
    attempts: attempts?.[slot] ?? 1,
    version: versions?.[slot] ?? 1,
  }))
  return { suspects, slots }
}

function toNext({ nextDueMs }: ClaimResult): Claimed['next'] {
  if (nextDueMs === null) return 'never'
  return nextDueMs > 0 ? 'later' : 'now'
}

const ascending = (numbers: readonly number[]): number[] => [...numbers].sort((a, b) => a - b)

const numberOf = (payload: string | Uint8Array): number => JSON.parse(String(payload)).n
