import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { HeldLease } from '../../src/consume/held-lease.ts'
import type { SubscriptionRecord } from '../../src/stores/subscription-record.ts'
import type { TopicRecord } from '../../src/stores/topic-record.ts'

const TERM_MS = 1_000

describe('the signal of a lease', () => {
  it('is not aborted before the lease has expired, although timers may fire a little early', t => {
    let now = 0
    t.mock.method(performance, 'now', () => now)
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const page = { token: 't', size: 1, messages: [], slots: [], versions: null, attempts: null } as const
    const [topic, subscription] = [{ name: 'work' } as TopicRecord, { group: 'g' } as SubscriptionRecord]
    const term = { claimedAt: 0, termMs: TERM_MS, isClaimed: false }
    const held = new HeldLease({ ...page, suspects: 'none' }, topic, subscription, { forget() {} }, term)
    const { signal } = held
    now = TERM_MS - 0.4
    t.mock.timers.tick(TERM_MS)
    assert.deepEqual([signal.aborted, held.expired], [false, false])
    now = TERM_MS + 0.6
    t.mock.timers.tick(1)
    assert.deepEqual([signal.aborted, held.expired], [true, true])
  })
})
