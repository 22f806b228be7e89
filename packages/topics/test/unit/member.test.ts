import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { LeasedDelivery } from '../../src/consume/delivery.ts'
import { HeldLease } from '../../src/consume/held-lease.ts'
import { type Handler, Member } from '../../src/consume/member.ts'
import { ConsumerMeter } from '../../src/observe/metrics/consumer-meter.ts'
import { Histogram } from '../../src/observe/metrics/histogram.ts'
import type { RawMessage } from '../../src/payload/raw-message.ts'
import type { Runtime } from '../../src/runtime.ts'
import type { SubscriptionRecord } from '../../src/stores/subscription-record.ts'
import type { TopicRecord } from '../../src/stores/topic-record.ts'

const MESSAGES = 40
const SLOW = 20

describe('a member', () => {
  it('times a handler that waits, and the one after it, however quick those before it were', async t => {
    const { clock, run } = bench(t)
    const { timed } = await run(async ({ id }) => {
      if (id !== SLOW) return
      await turn()
      clock.now += 20
    })
    assert.deepEqual([timed.get(SLOW), timed.get(SLOW + 1)], [20, 0])
    assert.ok([...timed.values()].filter(ms => ms === undefined).length > MESSAGES / 2, 'few are timed')
  })

  for (const place of [2, SLOW, MESSAGES - 1]) {
    it(`has message ${place} in its figures, which blocks the process, and the others as quick`, async t => {
      const { clock, run } = bench(t)
      const { meter, timed } = await run(({ id }) => {
        if (id === place) clock.now += 500
      })
      assert.equal(timed.get(place), undefined)
      await turn()
      const { count, p50, max } = meter.handler.snapshot()
      assert.deepEqual([count, Math.round(p50), max], [MESSAGES, 0, 500])
    })
  }

  it('does not keep what it has handled while its queue never runs empty', async t => {
    const { delivery } = bench(t)
    const handled: WeakRef<object>[] = []
    const done = Promise.withResolvers<void>()
    const member: Member<unknown> = new Member<unknown>(
      'm',
      async each => {
        handled.push(new WeakRef(each))
        member.enqueue(delivery())
        // Ends the turn, so that the weak references let go.
        await turn()
        if (handled.length === 4_000) done.resolve()
        if (handled.length >= 4_000) await new Promise(() => {})
      },
      { filter: undefined, concurrency: 1 },
      { finished() {}, expired: () => done.reject(new Error('the lease holds')) },
    )
    member.enqueue(delivery())
    member.enqueue(delivery())
    member.pump()
    await done.promise
    setFlagsFromString('--expose-gc')
    runInNewContext('gc')()
    const kept = handled.filter(each => each.deref() !== undefined).length
    assert.ok(kept < 2_000, `keeps ${kept} of ${handled.length}`)
  })
})

/** A member with a page of messages, and a clock of the test's own: on a busy machine any handler may take a millisecond. */
function bench(t: TestContext) {
  const clock = { now: 1_000 }
  t.mock.method(performance, 'now', () => clock.now)
  const messages = Array.from({ length: MESSAGES }, (_, id): RawMessage => {
    return { id, salt: 1, payload: '1', type: null, key: null, headers: null, messageId: null, createdAt: 0 }
  })
  const page = { token: '', size: MESSAGES, messages, slots: null, versions: null, attempts: null }
  // Nothing of the engine, the topic or the group is asked for while messages are only handled.
  const topic = {} as TopicRecord
  const term = { claimedAt: performance.now(), termMs: 300_000 }
  const held = new HeldLease({ ...page, suspects: 'none' }, topic, {} as SubscriptionRecord, { forget() {} }, term)
  const run = async (handler: Handler<unknown>) => {
    const meter = new ConsumerMeter(new Histogram())
    const timed = new Map<number, number | undefined>()
    const done = Promise.withResolvers<void>()
    const options = { filter: undefined, concurrency: 1 }
    const member = new Member<unknown>('m', handler, options, {
      finished: (_member, { id }, _error, ms) => {
        timed.set(id, ms)
        meter.settled(false, ms)
        if (timed.size === MESSAGES) done.resolve()
      },
      expired: () => done.reject(new Error('the lease holds')),
    })
    member.meter = meter
    for (const [at, raw] of messages.entries()) member.enqueue(new LeasedDelivery({} as Runtime, held, at, raw, 1))
    member.pump()
    await done.promise
    return { timed, meter }
  }
  const delivery = () => new LeasedDelivery<unknown>({} as Runtime, held, 0, messages[0] as RawMessage, 1)
  return { clock, run, delivery }
}
