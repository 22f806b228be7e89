import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { SubscriptionRecord, TopicRecord } from 'tidemark/store'
import { skipWithoutNats } from '../../../../testing/nats-binary.ts'
import { until } from '../../../../testing/until.ts'
import { countRetries } from '../../src/group/document.ts'
import { topicKey } from '../../src/nats/names.ts'
import {
  claim,
  drain,
  EVERYTHING,
  isFull,
  type Parts,
  passTime,
  publishNumbers,
  range,
  servers,
  settle,
} from '../parts.ts'

const LATER_MS = 3_600_000

describe('retries by the million', { skip: skipWithoutNats() }, () => {
  const { namespace } = servers()
  const prepared = async (parts: Parts, count: number): Promise<[TopicRecord, SubscriptionRecord]> => {
    const topic = await parts.store.topics.configure('work', { semantics: 'pub-sub' })
    const group = await parts.store.subscriptions.subscribe(topic, 'g', 'beginning')
    await publishNumbers(parts, topic, 1, count)
    return [topic, group]
  }
  const read = async ({ steward }: Parts, topic: TopicRecord, { id }: SubscriptionRecord) =>
    (await steward.read({ topic, id })).value

  const many = isFull ? 1_000_000 : 5_000
  it(`keep the document small: ${many} messages that failed a thousand at a time`, async () => {
    await using parts = await (await namespace()).open()
    const [topic, group] = await prepared(parts, 1_000)
    for (let nacked = 0; ; ) {
      const lease = await claim(parts, topic, group)
      assert.ok(lease)
      await settle(parts, lease, { nacks: range(0, lease.size - 1) }, 5, LATER_MS)
      nacked += lease.size
      if (nacked === many) break
      await publishNumbers(parts, topic, nacked + 1, nacked + 1_000)
    }
    const document = await read(parts, topic, group)
    assert.equal(countRetries(document), many)
    const bytes = JSON.stringify(document).length
    assert.ok(bytes < 8_000 + many / 6, `${bytes} bytes`)
    // They are listed a page at a time, and a reset drops them all.
    const retries = await parts.store.leases.retries(topic, group, { after: 0, limit: 10 })
    assert.equal(retries.length, 10)
    await parts.store.subscriptions.resetCursor(topic, group, 'now', EVERYTHING)
    assert.equal(countRetries(await read(parts, topic, group)), 0)
    await parts.store.log.cleanUp(topic, 100)
    const { state } = await parts.client.streams.info(parts.ns.names.groupStream(topicKey(topic)), {
      subjects_filter: parts.ns.names.page(topicKey(topic), group.id, '*'),
    })
    // Tombstones may be left; they disappear by themselves.
    assert.ok(Object.keys(state.subjects ?? {}).length <= 100)
    assert.equal((await read(parts, topic, group)).droppedBelow, null)
  })

  const single = isFull ? 20_000 : 800
  it(`keep the document small: ${single} messages that failed one by one, and all come back once`, async () => {
    await using parts = await (await namespace()).open()
    const [topic, group] = await prepared(parts, single)
    let most = 0
    for (let nacked = 0; nacked < single; ) {
      const lease = await claim(parts, topic, group)
      assert.ok(lease)
      for (const slot of range(0, lease.size - 1)) await settle(parts, lease, { nacks: [slot] }, 5, LATER_MS)
      nacked += lease.size
      const { pages } = await read(parts, topic, group)
      most = Math.max(most, pages.length)
    }
    assert.ok(most <= 70 + single / 500, `${most} pages`)
    assert.deepEqual(await drain(parts, topic, group), [])
    await passTime(parts, topic, group, 2 * LATER_MS)
    const found = await drain(parts, topic, group)
    assert.deepEqual(
      found.toSorted((a, b) => a - b),
      range(1, single),
    )
  })

  it('of an expired page take a few bytes, not a row for each message', async () => {
    const { open } = await namespace()
    await using parts = await open()
    const [topic, group] = await prepared(parts, 1_000)
    assert.equal((await claim(parts, topic, group, { leaseMs: 1 }))?.size, 1_000)
    let taken: readonly number[] | null | undefined
    await until(
      async () => {
        const lease = await claim(parts, topic, group, { limit: 1_000 })
        taken = lease?.attempts
        return lease !== null
      },
      { what: 'a piece to come back' },
    )
    assert.ok(taken?.every(attempt => attempt === 2))
    const { pages, leases } = await read(parts, topic, group)
    const stored = pages.reduce((sum, { bytes }) => sum + bytes, 0)
    assert.ok(pages.reduce((sum, { count }) => sum + count, 0) + (taken?.length ?? 0) === 1_000)
    assert.ok(stored < 4_000, `${stored} bytes`)
    assert.equal(Object.keys(leases).length, 1)
  })
})
