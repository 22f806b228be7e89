import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Network } from './network.ts'
import { messages, open, request, server, useServer } from './store-bench.ts'

useServer()

/** The protocol's Sync and Query messages, after each of which a client waits for the server. */
const WAITS = /S\0\0\0[^\0]|Q\0\0/g

describe('round trips', () => {
  it('of a publish, a claim, an extension and a settlement: one each', async () => {
    await using network = await Network.to(server.url)
    await using bench = await open({}, { url: network.url, poolSize: 2 })
    const { store, topic } = bench
    const subscription = await store.subscriptions.subscribe(topic, 'g', 'beginning')
    let sent = ''
    // A wake-up goes out beside them, on a connection of its own if need be.
    network.onSent = text => {
      if (!text.includes('tidemark_notify')) sent += text
    }
    const counted = async <T>(work: Promise<T>): Promise<[number, T]> => {
      const result = await work
      const waits = sent.match(WAITS)?.length ?? 0
      sent = ''
      return [waits, result]
    }
    const once = async () => {
      const [publishing] = await counted(store.log.publish(topic, messages(3)))
      const [claiming, { lease }] = await counted(store.leases.claim(request(bench, subscription)))
      const token = lease?.token ?? ''
      const [extending] = await counted(store.leases.extend(token, 60_000))
      const acked = { token, size: 3, maxAttempts: 5, acks: 'all', nacks: [], releases: [] } as const
      const [settling] = await counted(store.leases.settle([acked]))
      return { publishing, claiming, extending, settling }
    }
    // Connections are made and told their settings, and partitions made ahead.
    for (let warmUp = 0; warmUp < 5; warmUp++) await once()
    assert.deepEqual(await once(), { publishing: 1, claiming: 1, extending: 1, settling: 1 })
  })

  it('of a method with a transaction: one for its check, its statements, and the commit', async () => {
    await using network = await Network.to(server.url)
    await using bench = await open({}, { url: network.url, poolSize: 2 })
    const { store, topic } = bench
    await store.subscriptions.subscribe(topic, 'g', 'beginning')
    await store.subscriptions.find(topic, 'g')
    let sent = ''
    network.onSent = text => {
      sent += text
    }
    await store.subscriptions.find(topic, 'g')
    assert.equal(sent.match(WAITS)?.length, 3)
    assert.match(sent, /begin; select .* as incarnation/)
  })
})
