import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { SubscriptionRecord, TopicRecord } from 'tidemark/store'
import { skipWithoutNats } from '../../../../testing/nats-binary.ts'
import { claim, EVERYTHING, type Parts, publishNumbers, servers, settle } from '../parts.ts'

describe('a dead letter', { skip: skipWithoutNats() }, () => {
  const { namespace } = servers()

  /** Fails the message until it is dead; returns its last attempt. */
  const bury = async (parts: Parts, topic: TopicRecord, group: SubscriptionRecord): Promise<number | undefined> => {
    for (;;) {
      const lease = await claim(parts, topic, group)
      assert.ok(lease)
      const { deadLettered } = await settle(parts, lease, { nacks: [0] }, 2)
      if (deadLettered.length > 0) return lease.attempts?.[0]
    }
  }
  const prepared = async (parts: Parts): Promise<[TopicRecord, SubscriptionRecord]> => {
    const topic = await parts.store.topics.configure('work', { semantics: 'pub-sub', maxAttempts: 2 })
    const group = await parts.store.subscriptions.subscribe(topic, 'g', 'beginning')
    await publishNumbers(parts, topic, 1, 1)
    return [topic, group]
  }
  const letters = async ({ store }: Parts, topic: TopicRecord) => await store.deadLetters.list(topic, { limit: 10 })

  it('can be redriven and buried again, and is there once', async () => {
    await using parts = await (await namespace()).open()
    const [topic, group] = await prepared(parts)
    for (let round = 0; round < 3; round++) {
      assert.equal(await bury(parts, topic, group), 2)
      assert.equal((await letters(parts, topic)).length, 1)
      const { redriven } = await parts.store.deadLetters.redrive(topic, { limit: 10 })
      assert.equal(redriven, 1)
      assert.equal((await letters(parts, topic)).length, 0)
    }
  })

  it('can be buried at the same attempt again after a reset', async () => {
    await using parts = await (await namespace()).open()
    const [topic, group] = await prepared(parts)
    await bury(parts, topic, group)
    await parts.store.subscriptions.resetCursor(topic, group, 'beginning', EVERYTHING)
    await bury(parts, topic, group)
    assert.equal((await letters(parts, topic)).length, 2)
    // Both are redriven: the message comes back once.
    assert.equal((await parts.store.deadLetters.redrive(topic, { limit: 10 })).redriven, 2)
    const lease = await claim(parts, topic, group)
    assert.equal(lease?.size, 1)
    assert.equal(await claim(parts, topic, group), null)
  })

  it('that two processes redrive at once comes back once, and neither waits for the other', async () => {
    const { open } = await namespace()
    await using parts = await open()
    await using other = await open()
    const [topic, group] = await prepared(parts)
    await bury(parts, topic, group)
    const both = await Promise.all([parts, other].map(each => each.store.deadLetters.redrive(topic, { limit: 10 })))
    assert.equal(
      both.reduce((sum, { redriven }) => sum + redriven, 0),
      1,
    )
    assert.equal((await claim(parts, topic, group))?.size, 1)
    assert.equal(await claim(parts, topic, group), null)
  })
})
