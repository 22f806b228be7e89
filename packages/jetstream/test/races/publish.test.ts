import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { skipWithoutNats } from '../../../../testing/nats-binary.ts'
import { cleanUp } from '../../src/clean-up.ts'
import { NoAnswer } from '../../src/nats/errors.ts'
import {
  ageMessages,
  drain,
  isFull,
  message,
  type Parts,
  publishNumbers,
  range,
  SHORT_LIVED,
  servers,
} from '../parts.ts'

/** The servers store the next batches, and their answers are lost. */
function loseAnswers({ client }: Parts, count: number): void {
  const { store } = client
  let left = count
  client.store = async function (this: typeof client, writes, id) {
    const answer = await store.call(this, writes, id)
    if (left-- > 0) throw new NoAnswer('lost by the test')
    return answer
  }
}

describe('a publish on JetStream', { skip: skipWithoutNats() }, () => {
  const { namespace } = servers()

  for (const [what, ids] of [
    ['one message', [null]],
    ['one message with a messageId', ['a']],
    ['messages with and without messageIds', [null, 'a', null, 'b', 'a']],
  ] as const) {
    it(`of ${what} whose answer is lost is stored once, and its ids are right`, async () => {
      await using parts = await (await namespace()).open()
      const topic = await parts.store.topics.configure('work', { semantics: 'pub-sub' })
      const group = await parts.store.subscriptions.subscribe(topic, 'g', 'beginning')
      loseAnswers(parts, 1)
      const results = await parts.store.log.publish(
        topic,
        ids.map((id, n) => message(n, id)),
      )
      const reader = parts.ns.reader(topic)
      const payloads = await Promise.all(results.map(async ({ id }) => (await reader.message(id))?.payload))
      assert.deepEqual(
        payloads,
        ids.map((_, n) => String(n === 4 ? 1 : n)),
      )
      assert.deepEqual(await drain(parts, topic, group), [...new Set(payloads)].map(Number))
    })
  }

  it('stores each of many racing messageIds once, and answers all with the same id', async () => {
    const { open } = await namespace()
    await using parts = await open()
    await using second = await open()
    await using third = await open()
    const all = [parts, second, third]
    const topic = await parts.store.topics.configure('work', { semantics: 'pub-sub' })
    const group = await parts.store.subscriptions.subscribe(topic, 'g', 'beginning')
    const rounds = isFull ? 200 : 25
    const ids = new Map<string, Set<number>>()
    let fresh = 0
    for (let round = 0; round < rounds; round++) {
      await Promise.all(
        all.map(async ({ store }) => {
          const names = range(1, 4).map(() => `${round}-${Math.floor(Math.random() * 6)}`)
          const results = await store.log.publish(
            topic,
            names.map(name => message(name, name)),
          )
          for (const [n, { id, duplicate }] of results.entries()) {
            const name = names[n] ?? ''
            ids.set(name, (ids.get(name) ?? new Set()).add(id))
            if (!duplicate) fresh++
          }
        }),
      )
    }
    assert.ok([...ids.values()].every(each => each.size === 1))
    assert.equal(fresh, ids.size)
    const delivered = (await drain(parts, topic, group)) as unknown as string[]
    assert.deepEqual(delivered.toSorted(), [...ids.keys()].toSorted())
  })

  it('knows a messageId whose message was cleaned up, within the dedupe window', async () => {
    await using parts = await (await namespace()).open()
    const { store, ns, topics, steward } = parts
    const topic = await store.topics.configure('work', SHORT_LIVED)
    const group = await store.subscriptions.subscribe(topic, 'g', 'beginning')
    const [first] = await store.log.publish(topic, [message(1, 'a')])
    await drain(parts, topic, group)
    await ageMessages(parts, topic)
    assert.equal((await cleanUp(ns, topics, steward, topic, 100)).removed, 1)
    const [again] = await store.log.publish(topic, [message(1, 'a')])
    assert.deepEqual([again?.id, again?.duplicate], [first?.id, true])
    await publishNumbers(parts, topic, 2, 2)
    assert.deepEqual(await drain(parts, topic, group), [2])
  })
})
