import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { HeldLease } from '../../src/consume/held-lease.ts'
import type { SubscriptionRecord } from '../../src/stores/subscription-record.ts'
import type { TopicRecord } from '../../src/stores/topic-record.ts'

const TERM_MS = 1_000

function hold(): HeldLease {
  const page = { token: 't', size: 1, messages: [], slots: [], versions: null, attempts: null } as const
  const [topic, subscription] = [
    { name: 'work', config: { maxAttempts: 5 } } as TopicRecord,
    { group: 'g' } as SubscriptionRecord,
  ]
  const term = { claimedAt: 0, termMs: TERM_MS, isClaimed: false }
  return new HeldLease({ ...page, suspects: 'none' }, topic, subscription, { forget() {} }, term)
}

describe('the signal of a lease', () => {
  it('is not aborted before the lease has expired, although timers may fire a little early', t => {
    let now = 0
    t.mock.method(performance, 'now', () => now)
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const held = hold()
    const { signal } = held
    now = TERM_MS - 0.4
    t.mock.timers.tick(TERM_MS)
    assert.deepEqual([signal.aborted, held.expired], [false, false])
    now = TERM_MS + 0.6
    t.mock.timers.tick(1)
    assert.deepEqual([signal.aborted, held.expired], [true, true])
  })

  for (const isSettled of [false, true]) {
    it(`moves with an extension, ${isSettled ? 'and ends when all is settled' : 'to the new deadline'}`, t => {
      let now = 0
      t.mock.method(performance, 'now', () => now)
      t.mock.timers.enable({ apis: ['setTimeout'] })
      const pass = (ms: number): void => {
        now += ms
        t.mock.timers.tick(ms)
      }
      const held = hold()
      const { signal } = held
      pass(TERM_MS / 2)
      held.extendTo(3 * TERM_MS)
      pass(TERM_MS)
      assert.equal(signal.aborted, false)
      if (isSettled) {
        held.ack(0)
        held.answer(held.take(), { stale: [], deadLettered: [], finished: true })
      }
      pass(2 * TERM_MS)
      assert.equal(signal.aborted, !isSettled)
    })
  }
})
