import assert from 'node:assert/strict'
import type { Lease } from '../../stores/leases.ts'
import type { BrowsePage } from '../../stores/log.ts'
import type { Store } from '../../stores/store.ts'
import type { SubscriptionRecord } from '../../stores/subscription-record.ts'
import type { TopicRecord } from '../../stores/topic-record.ts'
import { until } from '../until.ts'
import type { TestStore } from './test-store.ts'

export type CleanUpCommand =
  | { readonly do: 'publish'; readonly count: number }
  | { readonly do: 'claim'; readonly group: number; readonly limit: number }
  | { readonly do: 'ack' | 'nack'; readonly lease: number; readonly slots: readonly number[] | 'all' }
  | { readonly do: 'pause' | 'resume' | 'kill' | 'revive' | 'run out'; readonly group: number }
  | { readonly do: 'age'; readonly hours: number }
  | { readonly do: 'clean up' }

const HOUR = 3_600_000
const RETENTION_HOURS = 1
const CAP_HOURS = 10

type Status = 'ACTIVE' | 'PAUSED' | 'DEAD'
type Group = {
  readonly subscription: SubscriptionRecord
  status: Status
  /** Ids it has neither acked nor been told are lost. */
  readonly needs: Set<number>
  watermark: bigint
  lost: number
}
const CHANGES = {
  pause: { from: 'ACTIVE', to: 'PAUSED' },
  resume: { from: 'PAUSED', to: 'ACTIVE' },
  kill: { from: 'ACTIVE', to: 'DEAD' },
  revive: { from: 'DEAD', to: 'ACTIVE' },
} as const

type Held = { readonly group: Group; readonly lease: Lease; readonly open: Set<number> }

/** One topic and three groups, and what each group still needs; verified after every clean-up. */
export class CleanUpRun {
  removed = 0
  lost = 0
  readonly #testStore: TestStore
  readonly #topic: TopicRecord
  readonly #groups: readonly Group[]
  /** The age in hours of every retained message. */
  readonly #ages = new Map<number, number>()
  readonly #held: Held[] = []

  static async create(testStore: TestStore, name: string): Promise<CleanUpRun> {
    const topic = await testStore.store.topics.configure(name, {
      semantics: 'pub-sub',
      retentionMs: RETENTION_HOURS * HOUR,
      zeroSubscriptionRetentionMs: RETENTION_HOURS * HOUR,
      maxRetentionMs: CAP_HOURS * HOUR,
      leaseMs: HOUR,
      maxAttempts: 1_000,
      partitionRows: 8,
    })
    const groups: Group[] = []
    for (const group of ['a', 'b', 'c']) {
      const subscription = await testStore.store.subscriptions.subscribe(topic, group, 'beginning')
      groups.push({ subscription, status: 'ACTIVE', needs: new Set(), watermark: -1n, lost: 0 })
    }
    return new CleanUpRun(testStore, topic, groups)
  }

  private constructor(testStore: TestStore, topic: TopicRecord, groups: readonly Group[]) {
    this.#testStore = testStore
    this.#topic = topic
    this.#groups = groups
  }

  async do(command: CleanUpCommand): Promise<void> {
    if (command.do === 'publish') await this.#publish(command.count)
    else if (command.do === 'age') await this.#age(command.hours)
    else if (command.do === 'clean up') await this.#cleanUp()
    else if ('lease' in command) await this.#settle(command)
    else {
      const group = this.#groups[command.group]
      assert.ok(group)
      if (command.do === 'claim') await this.#claim(group, command.limit)
      else if (command.do === 'run out')
        await this.#testStore.database.expireLeases({ subscription: group.subscription.id })
      else await this.#change(group, command.do)
    }
    await this.#checkWatermarks()
  }

  /** All groups return and read what is left for them; then everything is removed. */
  async finish(): Promise<void> {
    for (const group of this.#groups) {
      for (const way of ['resume', 'revive'] as const) await this.#change(group, way)
      await this.#testStore.database.expireLeases({ subscription: group.subscription.id })
      await this.#testStore.database.makeRetriesDue({ subscription: group.subscription.id })
      for (let claims = 0; await this.#claim(group, 8); claims++) {
        assert.ok(claims < 1_000, 'a group never comes to its end')
        await this.#settle({ do: 'ack', lease: this.#held.length - 1, slots: 'all' })
      }
      assert.deepEqual([...group.needs], [], `${group.subscription.group} did not get all that it needed`)
    }
    await this.#age(2 * RETENTION_HOURS)
    const everything = async (): Promise<boolean> => {
      await this.#cleanUp()
      return this.#ages.size === 0
    }
    await until(everything, { what: 'everything to be removed' })
  }

  async #publish(count: number): Promise<void> {
    const message = { payload: '1', type: null, key: null, headers: null, messageId: null }
    const published = await this.#store.log.publish(this.#topic, new Array(count).fill(message))
    for (const { id } of published) {
      this.#ages.set(id, 0)
      for (const { needs } of this.#groups) needs.add(id)
    }
  }

  async #claim(group: Group, limit: number): Promise<boolean> {
    await this.#testStore.database.makeRetriesDue({ subscription: group.subscription.id })
    const { lease, status } = await this.#store.leases.claim({
      topic: this.#topic,
      subscription: group.subscription,
      consumer: 'one',
      limit,
      suspects: 'alone',
      leaseMs: null,
      sweep: true,
      forget: [],
      shared: limit % 2 === 0,
    })
    assert.equal(status, group.status)
    if (lease === null) return false
    assert.equal(group.status, 'ACTIVE')
    for (const { id } of lease.messages) assert.ok(group.needs.has(id), `${id} was delivered and is not needed`)
    this.#held.push({ group, lease, open: new Set(Array.from({ length: lease.size }, (_, slot) => slot)) })
    return true
  }

  async #settle({ do: how, lease: number, slots }: CleanUpCommand & { do: 'ack' | 'nack' }): Promise<void> {
    const held = this.#held[number % Math.max(1, this.#held.length)]
    if (held === undefined) return
    const { group, lease, open } = held
    const all = Array.from({ length: lease.size }, (_, slot) => slot)
    const wanted = slots === 'all' ? all : [...new Set(slots.map(slot => slot % lease.size))]
    const error = { name: 'Error', message: 'no' }
    const [result] = await this.#store.leases.settle([
      {
        token: lease.token,
        size: lease.size,
        maxAttempts: 1_000,
        acks: how === 'ack' ? (slots === 'all' ? 'all' : wanted) : [],
        nacks: how === 'nack' ? wanted.map(slot => ({ slot, delayMs: 0, error })) : [],
        releases: [],
      },
    ])
    assert.ok(result)
    for (const slot of wanted) {
      if (result.stale.includes(slot) || !open.delete(slot) || how === 'nack') continue
      const index = lease.slots === null ? slot : lease.slots.indexOf(slot)
      group.needs.delete(lease.messages[index]?.id ?? 0)
    }
  }

  async #change(group: Group, how: 'pause' | 'resume' | 'kill' | 'revive'): Promise<void> {
    const { subscription } = group
    const { from, to } = CHANGES[how]
    if (group.status !== from) return
    if (from === 'DEAD' || to === 'DEAD') await this.#testStore.database.setStatus(subscription.group, to)
    else await this.#store.subscriptions.setStatus(this.#topic, subscription, to)
    group.status = to
  }

  async #age(hours: number): Promise<void> {
    await this.#testStore.database.ageMessages(this.#topic.name, hours * HOUR)
    for (const [id, age] of this.#ages) this.#ages.set(id, age + hours)
  }

  async #cleanUp(): Promise<void> {
    const reported = new Map<string, number>()
    let removed = 0
    for (let more = true; more; ) {
      const step = await this.#store.log.cleanUp(this.#topic, 5)
      removed += step.removed
      for (const { group, count } of step.lost) reported.set(group, (reported.get(group) ?? 0) + count)
      more = step.more
    }
    const gone = await this.#gone()
    assert.equal(removed, gone.length, 'as many as it said')
    this.removed += removed
    for (const group of this.#groups) {
      const taken = gone.filter(id => group.needs.delete(id))
      const isLive = group.status !== 'DEAD'
      for (const id of isLive ? taken : []) {
        assert.ok(
          (this.#ages.get(id) ?? 0) >= CAP_HOURS,
          `${group.subscription.group} needs ${id}, and it is not past its cap`,
        )
      }
      const lost = isLive ? taken.length : 0
      assert.equal(reported.get(group.subscription.group) ?? 0, lost, `what ${group.subscription.group} lost`)
      group.lost += lost
      this.lost += lost
    }
    for (const id of gone) {
      assert.ok((this.#ages.get(id) ?? 0) >= RETENTION_HOURS, `${id} is within its retention`)
      this.#ages.delete(id)
    }
  }

  async #gone(): Promise<number[]> {
    const ids = [...this.#ages.keys()]
    if (ids.length === 0) return []
    const stored = new Set<number>()
    for (let after: number | null = 0; after !== null; ) {
      const page: BrowsePage = await this.#store.log.browse(this.#topic, { after, newestFirst: false, limit: 1_000 })
      for (const { id } of page.messages) stored.add(id)
      after = page.next
    }
    return ids.filter(id => !stored.has(id))
  }

  async #checkWatermarks(): Promise<void> {
    const { groups } = await this.#store.inspection.describe(this.#topic)
    for (const group of this.#groups) {
      const { group: name } = group.subscription
      const watermark = groups.find(each => each.group === name)?.watermark ?? -1n
      assert.ok(
        watermark >= group.watermark,
        `${name}: the watermark went back from ${group.watermark} to ${watermark}`,
      )
      group.watermark = watermark
    }
  }

  get #store(): Store {
    return this.#testStore.store
  }
}
