import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { claim } from '../../src/stores/sqlite/claim.ts'
import { requiredRow } from '../../src/stores/sqlite/connection.ts'
import { insertMessages } from '../../src/stores/sqlite/publish.ts'
import { settleLease } from '../../src/stores/sqlite/settle.ts'
import { subscribe } from '../../src/stores/sqlite/subscriptions.ts'
import { configureTopic } from '../../src/stores/sqlite/topics.ts'
import type { SubscriptionRecord, TopicRecord } from '../../src/stores/store.ts'
import { type Listening, listening } from './listening.ts'

const plain = { payload: '1', type: null, key: null, headers: null, messageId: null }
const PAGE = 200

describe('Concern 3: consumer group query performance', () => {
  it('a claim finds its rows by their ids, and reads no other table from end to end', async () => {
    await using connection = await listening()
    const topic = await configureTopic(connection, 'events', { semantics: 'pub-sub' })
    const subscription = await subscribe(connection, topic, 'g', 'beginning')
    await publish(connection, topic, 5_000)
    await page(connection, topic, subscription)
    connection.texts.clear()
    assert.equal((await page(connection, topic, subscription)).messages.length, PAGE)
    const reads = [...connection.texts].filter(text => /\bfrom tidemark_|\bjoin tidemark_|update tidemark_/.test(text))
    assert.ok(reads.some(text => text.includes(`tidemark_log_${topic.id}`)))
    for (const text of reads)
      for (const step of connection.plan(text)) assert.doesNotMatch(step, /^SCAN (tidemark_|[st]$)/)
  })
})

describe('Concern 4: message completion write amplification', () => {
  it('writes a lease and, by reference, a bit a message; by offset, nothing a message; again, nothing', async () => {
    await using connection = await listening()
    for (const [tracking, perMessage] of [
      ['offset', 0],
      ['reference', 1],
    ] as const) {
      const topic = await configureTopic(connection, tracking, { semantics: 'pub-sub', tracking })
      const subscription = await subscribe(connection, topic, 'g', 'now')
      await publish(connection, topic, PAGE)
      const { token } = await page(connection, topic, subscription)
      const acks = { token, size: PAGE, maxAttempts: 5, acks: 'all', nacks: [], releases: [] } as const
      assert.equal(await changes(connection, () => settleLease(connection, acks)), 1 + perMessage * PAGE)
      assert.equal(await changes(connection, () => settleLease(connection, acks)), 0)
    }
  })
})

async function publish(connection: Listening, topic: TopicRecord, count: number): Promise<void> {
  await connection.write(false, () =>
    insertMessages(sql => connection.prepare(sql), topic, new Array(count).fill(plain)),
  )
}

async function page(connection: Listening, topic: TopicRecord, subscription: SubscriptionRecord) {
  const options = { suspects: 'alone', leaseMs: null, sweep: true, forget: [], shared: false } as const
  const request = { topic, subscription, consumer: 'c', limit: PAGE, ...options }
  const { lease } = await claim(connection, request, { cache: undefined, lookFirst: true })
  assert.ok(lease)
  return lease
}

async function changes(connection: Listening, work: () => unknown): Promise<number> {
  const total = () => requiredRow<{ n: number }>(connection.prepare('select total_changes() as n')).n
  const before = total()
  await connection.write(false, work)
  return total() - before
}
