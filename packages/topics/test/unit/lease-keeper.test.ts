import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import type { Claimer } from '../../src/consume/claimer.ts'
import { HeldLease } from '../../src/consume/held-lease.ts'
import { LeaseKeeper } from '../../src/consume/lease-keeper.ts'
import { StaleDeliveryError } from '../../src/errors.ts'
import type { Runtime } from '../../src/runtime.ts'
import type { SubscriptionRecord } from '../../src/stores/subscription-record.ts'
import type { TopicRecord } from '../../src/stores/topic-record.ts'

const TERM_MS = 60_000

describe('a lease with autoExtend', () => {
  it('is extended at half its term, counted from before the database was asked', async t => {
    const { held, pass } = bench(t, { answerMs: 500 })
    const { signal } = held
    await pass(TERM_MS / 3)
    assert.equal(held.deadline, TERM_MS)
    await pass(TERM_MS / 3)
    assert.equal(held.deadline, TERM_MS / 2 + TERM_MS)
    await pass(TERM_MS / 3)
    assert.equal(signal.aborted, false)
  })

  it('that is refused aborts its signal at once, long before its deadline', async t => {
    const { held, pass, clock } = bench(t, { isLive: false })
    const { signal } = held
    await pass(TERM_MS / 3)
    assert.equal(signal.aborted, false)
    await pass(TERM_MS / 3)
    assert.ok(signal.reason instanceof StaleDeliveryError)
    assert.ok(held.lost && clock.now < held.deadline)
  })

  it('whose handler has run beyond the cap is not extended: what waits behind it is released', async t => {
    const { held, pass, asked, releasedOf } = bench(t, { isBeyondCap: true })
    await pass(TERM_MS)
    assert.deepEqual([asked(), releasedOf(held) > 0], [0, true])
  })
})

/** A keeper with one lease, on a clock of the test's own. */
function bench(t: TestContext, { isLive = true, answerMs = 0, isBeyondCap = false }) {
  const clock = { now: 0 }
  t.mock.method(performance, 'now', () => clock.now)
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const page = {
    token: 't',
    size: 1,
    messages: [],
    slots: [],
    versions: null,
    attempts: null,
    suspects: 'none',
  } as const
  const [topic, subscription] = [{ name: 'work' } as TopicRecord, { group: 'g' } as SubscriptionRecord]
  const term = { claimedAt: 0, termMs: TERM_MS, isClaimed: false }
  const held = new HeldLease(page, topic, subscription, { forget() {} }, term)
  let asked = 0
  const released: HeldLease[] = []
  const extend = async (): Promise<boolean> => {
    asked++
    clock.now += answerMs
    return isLive
  }
  const keeper = new LeaseKeeper(
    { store: { leases: { extend } } } as unknown as Runtime,
    {
      leases: new Set([held]),
      leasesRunningFor: () => new Set(isBeyondCap ? [] : [held]),
      giveUpWaiting: each => void released.push(each),
    },
    {} as Claimer,
    3_600_000,
  )
  keeper.watch(held)
  /** Lets time pass in steps, and answers arrive between them. */
  const pass = async (ms: number): Promise<void> => {
    for (let step = 0; step < 20; step++) {
      clock.now += ms / 20
      t.mock.timers.tick(ms / 20)
      await Promise.resolve()
      await Promise.resolve()
    }
  }
  const releasedOf = (lease: HeldLease): number => released.filter(each => each === lease).length
  return { held, clock, pass, asked: () => asked, releasedOf }
}
