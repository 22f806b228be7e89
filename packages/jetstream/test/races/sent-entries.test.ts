import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import { skipWithoutNats } from '../../../../testing/nats-binary.ts'
import { claim, numbersOf, publishNumbers, range, servers, settle } from '../parts.ts'

describe('a claim of another process than the steward', { skip: skipWithoutNats() }, () => {
  const { namespace } = servers()

  it('gets a small page with the answer, and reads a large one itself', async () => {
    const { open } = await namespace()
    await using steward = await open()
    await using other = await open()
    const topic = await steward.store.topics.configure('work', { semantics: 'pub-sub' })
    const group = await steward.store.subscriptions.subscribe(topic, 'g', 'beginning')
    await publishNumbers(steward, topic, 1, 100)
    const large = range(101, 103).map(n => ({ n, text: randomBytes(45_000).toString('base64') }))
    const text = (payload: unknown) => ({
      key: null,
      type: null,
      headers: null,
      messageId: null,
      payload: JSON.stringify(payload),
    })
    for (const each of large) await steward.store.log.publish(topic, [text(each)])
    // The first change makes it the steward.
    await settle(steward, (await claim(steward, topic, group, { limit: 10 })) ?? assert.fail(), { acks: 'all' })
    let requests = 0
    const { batch } = other.client
    other.client.batch = async function (this: typeof other.client, stream, query) {
      requests++
      return await batch.call(this, stream, query)
    }
    assert.deepEqual(numbersOf(await claim(other, topic, group, { limit: 90 })), range(11, 100))
    assert.equal(requests, 0)
    const lease = await claim(other, topic, group, { limit: 3 })
    assert.deepEqual(
      lease?.messages.map(({ payload }) => JSON.parse(String(payload)).n),
      [101, 102, 103],
    )
    assert.ok(requests > 0)
  })
})
