import assert from 'node:assert/strict'
import { describe } from 'node:test'
import type { ClaimRequest, Lease } from '../stores/leases.ts'
import type { Store } from '../stores/store.ts'
import type { SubscriptionRecord } from '../stores/subscription-record.ts'
import type { TopicRecord } from '../stores/topic-record.ts'
import { type ConformanceDatabase, type ConformanceStore, type ConformanceStores, needs } from './conformance-store.ts'
import { range } from './consuming.ts'
import { it } from './it.ts'
import { openStore } from './open-store.ts'

type Case = {
  readonly messages: number
  readonly poison: readonly number[]
  readonly maxAttempts: number
  readonly batchSize?: number
  readonly tracking?: 'reference'
  /** Messages whose first attempt fails harmlessly. */
  readonly failing?: readonly number[]
}

type Outcome = {
  readonly dead: readonly number[]
  readonly acked: readonly number[]
  readonly deaths: number
  readonly claims: number
}

export function poison({ shared }: ConformanceStores): void {
  for (const store of shared) {
    describe(store.name, () => {
      describe('a poison message that kills its process', () => {
        for (const maxAttempts of [2, 3, 5]) {
          for (const [where, poison] of [
            ['in the first place', [1]],
            ['in the middle', [101]],
            ['in the last place', [200]],
          ] as const) {
            it(`${where}, is found within ${maxAttempts} attempts, and no other message is dead-lettered`, async () => {
              const { dead, deaths, acked } = await suffer(store, { messages: 200, poison, maxAttempts })
              assert.deepEqual(dead, poison)
              assert.equal(deaths, maxAttempts)
              assert.deepEqual(acked, without(range(1, 200), poison))
            })
          }

          it(`is found among others of its kind within ${maxAttempts} attempts`, async () => {
            const poison = [3, 4, 150, 397]
            const { dead, acked } = await suffer(store, { messages: 400, poison, maxAttempts })
            assert.deepEqual(dead, poison)
            assert.deepEqual(acked, without(range(1, 400), poison))
          })

          it(`is found in pages of another size within ${maxAttempts} attempts`, async () => {
            for (const batchSize of [1, 7, 333]) {
              const outcome = await suffer(store, { messages: 100, poison: [50, 99], maxAttempts, batchSize })
              assert.deepEqual(outcome.dead, [50, 99])
            }
          })

          it(
            `is found in a topic tracked by reference within ${maxAttempts} attempts`,
            needs(store, 'tracking'),
            async () => {
              const poison = [9, 60]
              const outcome = await suffer(store, { messages: 60, poison, maxAttempts, tracking: 'reference' })
              assert.deepEqual([outcome.dead, outcome.acked], [poison, without(range(1, 60), poison)])
            },
          )
        }

        it('is found among messages that failed on their own', async () => {
          const failing = range(20, 120)
          const outcome = await suffer(store, { messages: 200, poison: [77], maxAttempts: 5, failing })
          assert.deepEqual(outcome.dead, [77])
        })

        it('costs few claims, however many were in flight with it', async () => {
          const { claims } = await suffer(store, { messages: 1_500, poison: [700], maxAttempts: 5, batchSize: 1_500 })
          // The page; then four times a few pieces: of 1500, of one of 215, of one of 31, of one of 6.
          assert.ok(claims <= 1 + 7 + 6 + 6 + 6, `${claims} claims`)
        })
      })
    })
  }
}

/**
 * Simulates processes one after another; each claims as a group does, and dies of the first poison message that it
 * handles.
 */
async function suffer(testStore: ConformanceStore, { batchSize = 200, ...given }: Case): Promise<Outcome> {
  await using database = await testStore.fresh()
  await using store = await openStore(database)
  const { messages, maxAttempts, tracking = 'offset' } = given
  const topic = await store.topics.configure('work', { semantics: 'pub-sub', maxAttempts, tracking })
  const group = await store.subscriptions.subscribe(topic, 'workers', 'now')
  const message = { type: null, key: null, headers: null, messageId: null }
  await store.log.publish(
    topic,
    range(1, messages).map(n => ({ ...message, payload: String(n) })),
  )
  const story = new Story(database, store, topic, group, { batchSize, ...given })
  while (await story.live());
  const letters = await store.deadLetters.list(topic, { limit: 1_000 })
  assert.ok(letters.every(({ attempts }) => attempts === maxAttempts))
  const dead = letters.map(letter => Number(letter.message.payload)).sort(byValue)
  return { dead, acked: [...story.acked].sort(byValue), deaths: story.deaths, claims: story.claims }
}

class Story {
  readonly acked = new Set<number>()
  deaths = 0
  claims = 0
  readonly #database: ConformanceDatabase
  readonly #store: Store
  readonly #request: Omit<ClaimRequest, 'suspects' | 'limit'>
  readonly #case: Case & { batchSize: number }

  constructor(
    database: ConformanceDatabase,
    store: Store,
    topic: TopicRecord,
    subscription: SubscriptionRecord,
    given: Case & { batchSize: number },
  ) {
    this.#database = database
    this.#store = store
    this.#case = given
    this.#request = { topic, subscription, consumer: 'c', leaseMs: null, sweep: true, forget: [], shared: false }
  }

  /** The life of one process. False if it found nothing more to do. */
  async live(): Promise<boolean> {
    for (;;) {
      const first = await this.#claim('alone')
      if (first === null) return false
      // Whatever is claimed ahead dies with it; but nothing is claimed beside a suspect on its last attempt.
      const ahead = first.suspects === 'alone' ? null : await this.#claim(first.suspects === 'none' ? 'shared' : 'none')
      const inHand = [first, ...(ahead ? [ahead] : [])]
      if (inHand.some(lease => this.#kills(lease))) {
        this.deaths++
        await this.#database.expireLeases()
        return true
      }
      for (const lease of inHand) await this.#settle(lease)
    }
  }

  async #claim(suspects: ClaimRequest['suspects']): Promise<Lease | null> {
    const { lease } = await this.#store.leases.claim({ ...this.#request, suspects, limit: this.#case.batchSize })
    if (lease !== null) this.claims++
    return lease
  }

  #kills(lease: Lease): boolean {
    return lease.messages.some(message => this.#case.poison.includes(Number(message.payload)))
  }

  async #settle(lease: Lease): Promise<void> {
    const { token, size, messages } = lease
    const error = { name: 'Error', message: 'the first attempt fails' }
    const nacks = messages.flatMap((message, slot) => {
      const isFirst = (lease.attempts?.[slot] ?? 1) === 1
      return isFirst && this.#case.failing?.includes(Number(message.payload)) ? [{ slot, delayMs: 0, error }] : []
    })
    const nacked = new Set(nacks.map(({ slot }) => slot))
    const acks = messages.map((_, slot) => slot).filter(slot => !nacked.has(slot))
    await this.#store.leases.settle([{ token, size, maxAttempts: this.#case.maxAttempts, acks, nacks, releases: [] }])
    for (const slot of acks) this.acked.add(Number(messages[slot]?.payload))
  }
}

const without = (all: readonly number[], some: readonly number[]): number[] => all.filter(n => !some.includes(n))

const byValue = (a: number, b: number): number => a - b
