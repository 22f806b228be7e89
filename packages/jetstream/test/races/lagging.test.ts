/** Replicas that lag behind: here the answers to direct reads are those of one that has not heard of the newest entries. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { skipWithoutNats } from '../../../../testing/nats-binary.ts'
import { drain, type Parts, publishNumbers, range, servers } from '../parts.ts'

/** Direct reads know nothing from a sequence on. */
function lag({ client }: Parts, seq: number): void {
  const { batch } = client
  client.batch = async function (this: typeof client, stream, query) {
    const found = await batch.call(this, stream, query)
    return stream.includes('-L') ? found.filter(each => each.seq < seq) : found
  }
}

describe('a replica that lags behind', { skip: skipWithoutNats() }, () => {
  const { namespace } = servers()

  it('hides nothing from the process that has published it', async () => {
    await using parts = await (await namespace()).open()
    const topic = await parts.store.topics.configure('work', { semantics: 'pub-sub' })
    const group = await parts.store.subscriptions.subscribe(topic, 'g', 'beginning')
    await publishNumbers(parts, topic, 1, 10)
    lag(parts, 2)
    for (const n of range(11, 15)) await publishNumbers(parts, topic, n, n)
    assert.deepEqual(await drain(parts, topic, group), range(1, 15))
  })

  it('does not move the start of a group that begins at a time', async () => {
    const { open } = await namespace()
    await using parts = await open()
    await using other = await open()
    const topic = await parts.store.topics.configure('work', { semantics: 'pub-sub' })
    const before = parts.ns.clock.now() - 1_000
    for (const n of range(1, 5)) await publishNumbers(parts, topic, n, n)
    lag(other, 1)
    const group = await other.store.subscriptions.subscribe(topic, 'g', { timestamp: before })
    assert.deepEqual(await drain(parts, topic, group), range(1, 5))
  })

  it('does not hide what an operator passes over', async () => {
    const { open } = await namespace()
    await using parts = await open()
    await using other = await open()
    const topic = await parts.store.topics.configure('work', { semantics: 'pub-sub' })
    const group = await other.store.subscriptions.subscribe(topic, 'g', 'beginning')
    for (const n of range(1, 5)) await publishNumbers(parts, topic, n, n)
    lag(other, 3)
    assert.equal(await other.store.subscriptions.forceAdvance(topic, group), 5)
    assert.deepEqual(await drain(parts, topic, group), [])
  })
})
