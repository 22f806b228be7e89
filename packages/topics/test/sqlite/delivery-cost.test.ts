import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { requiredRow } from '../../src/stores/sqlite/rows.ts'
import type { Store } from '../../src/stores/store.ts'
import type { SubscriptionRecord } from '../../src/stores/subscription-record.ts'
import type { TopicRecord } from '../../src/stores/topic-record.ts'
import { type Listening, listening } from './listening.ts'

const plain = { payload: '1', type: null, key: null, headers: null, messageId: null }
const PAGE = 200

describe('Concern 3: consumer group query performance', () => {
  it('a claim finds its rows by their ids, and reads no other table from end to end', async () => {
    await using connection = await listening()
    const { store } = connection
    const topic = await store.topics.configure('events', { semantics: 'pub-sub' })
    const subscription = await store.subscriptions.subscribe(topic, 'g', 'beginning')
    await publish(store, topic, 5_000)
    await page(store, topic, subscription)
    connection.texts.clear()
    assert.equal((await page(store, topic, subscription)).messages.length, PAGE)
    const reads = [...connection.texts].filter(text => /\bfrom tidemark_|\bjoin tidemark_|update tidemark_/.test(text))
    assert.ok(reads.some(text => text.includes(`tidemark_log_${topic.id}`)))
    for (const text of reads)
      for (const step of connection.plan(text)) assert.doesNotMatch(step, /^SCAN (tidemark_|[st]$)/)
  })
})

describe('Concern 4: message completion write amplification', () => {
  it('writes a lease and, by reference, a bit per message; by offset, nothing per message; repeated, nothing', async () => {
    await using connection = await listening()
    const { store } = connection
    for (const [tracking, perMessage] of [
      ['offset', 0],
      ['reference', 1],
    ] as const) {
      const topic = await store.topics.configure(tracking, { semantics: 'pub-sub', tracking })
      const subscription = await store.subscriptions.subscribe(topic, 'g', 'now')
      await publish(store, topic, PAGE)
      const { token } = await page(store, topic, subscription)
      const acks = { token, size: PAGE, maxAttempts: 5, acks: 'all', nacks: [], releases: [] } as const
      assert.equal(await changes(connection, () => store.leases.settle([acks])), 1 + perMessage * PAGE)
      assert.equal(await changes(connection, () => store.leases.settle([acks])), 0)
    }
  })
})

async function publish(store: Store, topic: TopicRecord, count: number): Promise<void> {
  await store.log.publish(topic, new Array(count).fill(plain))
}

async function page(store: Store, topic: TopicRecord, subscription: SubscriptionRecord) {
  const options = { suspects: 'alone', leaseMs: null, sweep: true, forget: [], shared: false } as const
  const request = { topic, subscription, consumer: 'c', limit: PAGE, ...options }
  const { lease } = await store.leases.claim(request)
  assert.ok(lease)
  return lease
}

async function changes(connection: Listening, work: () => unknown): Promise<number> {
  const total = () => requiredRow<{ n: number }>(connection.prepare('select total_changes() as n')).n
  const before = total()
  await work()
  return total() - before
}
