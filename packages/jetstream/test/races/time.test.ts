import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { skipWithoutNats } from '../../../../testing/nats-binary.ts'
import { until } from '../../../../testing/until.ts'
import { claim, passTime, publishNumbers, servers, settle } from '../parts.ts'

const HOUR = 3_600_000

describe('a leader whose clock was an hour ahead', { skip: skipWithoutNats() }, () => {
  const { namespace } = servers()

  it('ends leases early; those that are claimed later end in their time, and retries come', async () => {
    const { open } = await namespace()
    await using parts = await open()
    await using other = await open()
    const { store } = parts
    const topic = await store.topics.configure('work', { semantics: 'pub-sub' })
    const group = await store.subscriptions.subscribe(topic, 'g', 'beginning')
    await publishNumbers(parts, topic, 1, 2)
    const held = await claim(parts, topic, group, { limit: 1, leaseMs: 60_000 })
    assert.ok(held)
    await passTime(parts, topic, group, HOUR)
    const early = await claim(other, topic, group, { limit: 1 })
    assert.equal(early?.attempts?.[0], 2)
    assert.deepEqual((await settle(parts, held, { acks: 'all' })).stale, [0])
    const short = await claim(parts, topic, group, { limit: 1, leaseMs: 200 })
    assert.equal(short?.size, 1)
    await until(async () => (await claim(other, topic, group, { limit: 1 })) !== null, { what: 'the lease to end' })
    assert.deepEqual((await settle(parts, short, { acks: 'all' })).stale, [0])
    await settle(other, early, { nacks: [0] }, 5, 100)
    await until(async () => (await claim(other, topic, group, { limit: 1 })) !== null, { what: 'the retry to be due' })
  })
})
