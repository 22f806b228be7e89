import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { LeasedDelivery } from '../../src/consume/delivery.ts'
import { HeldLease } from '../../src/consume/held-lease.ts'
import { Member } from '../../src/consume/member.ts'
import type { RawMessage } from '../../src/payload/raw-message.ts'
import type { Runtime } from '../../src/runtime.ts'
import type { SubscriptionRecord } from '../../src/stores/subscription-record.ts'
import type { TopicRecord } from '../../src/stores/topic-record.ts'

const MESSAGES = 40
const SLOW = 20

describe('a member', () => {
  it('looks at the clock after a handler that waited, however quick those before it were', async t => {
    // The test's own: on a busy machine any handler may take a millisecond.
    let now = 1_000
    t.mock.method(performance, 'now', () => now)
    const messages = Array.from({ length: MESSAGES }, (_, id): RawMessage => {
      return { id, salt: 1, payload: '1', type: null, key: null, headers: null, messageId: null, createdAt: 0 }
    })
    const page = { token: '', size: MESSAGES, messages, slots: null, versions: null, attempts: null }
    // Nothing of the engine, the topic or the group is asked for while messages are only handled.
    const topic = {} as TopicRecord
    const term = { claimedAt: performance.now(), termMs: 300_000 }
    const held = new HeldLease({ ...page, suspects: 'none' }, topic, {} as SubscriptionRecord, { forget() {} }, term)
    let waitedUntil = 0
    const timed = new Map<number, number | undefined>()
    const done = Promise.withResolvers<void>()
    const handler = async ({ id }: { id: number }) => {
      if (id !== SLOW) return
      await turn()
      now += 20
      waitedUntil = now
    }
    const member = new Member<unknown>(
      'm',
      handler,
      { filter: undefined, concurrency: 1 },
      {
        finished: (_member, { id }, _error, timedFrom) => {
          timed.set(id, timedFrom)
          if (timed.size === MESSAGES) done.resolve()
        },
        expired: () => done.reject(new Error('the lease holds')),
      },
    )
    for (const [at, raw] of messages.entries()) member.enqueue(new LeasedDelivery({} as Runtime, held, at, raw, 1))
    member.pump()
    await done.promise
    assert.ok((timed.get(SLOW + 1) ?? 0) >= waitedUntil)
    assert.ok([...timed.values()].filter(from => from === undefined).length > MESSAGES / 2, 'few are timed')
  })
})
