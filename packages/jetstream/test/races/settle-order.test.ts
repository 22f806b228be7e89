import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { skipWithoutNats } from '../../../../testing/nats-binary.ts'
import { claim, FAILED, publishNumbers, servers } from '../parts.ts'

describe('settlements of one lease in one call', { skip: skipWithoutNats() }, () => {
  const { namespace } = servers()

  it('are stored in their order, however long the first one takes', async () => {
    await using parts = await (await namespace()).open()
    const { store, steward } = parts
    const topic = await store.topics.configure('work', { semantics: 'pub-sub' })
    const group = await store.subscriptions.subscribe(topic, 'g', 'beginning')
    await publishNumbers(parts, topic, 1, 2)
    const lease = await claim(parts, topic, group)
    assert.ok(lease)
    const { change } = steward
    let isFirst = true
    steward.change = async function (this: typeof steward, ref, op) {
      // As an answer that was lost and is asked for again.
      if (isFirst) {
        isFirst = false
        for (let turns = 0; turns < 20; turns++) await turn()
      }
      return await change.call(this, ref, op as never)
    } as typeof change
    const { token, size } = lease
    const none = { acks: [], nacks: [], releases: [] } as const
    const nacks = [{ slot: 1, delayMs: 0, error: FAILED }]
    const results = await store.leases.settle([
      { ...none, token, size, maxAttempts: 1, acks: [0] },
      { ...none, token, size, maxAttempts: 1, nacks },
    ])
    assert.deepEqual(
      results.map(({ finished, deadLettered }) => [finished, deadLettered]),
      [
        [false, []],
        [true, [1]],
      ],
    )
  })
})
