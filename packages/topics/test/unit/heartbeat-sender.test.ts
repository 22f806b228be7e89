/** Inside: what is sent when, of which a database shows only the last. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Beating, HeartbeatSender } from '../../src/consume/heartbeat-sender.ts'
import { Vitals } from '../../src/consume/vitals.ts'
import { SubscriptionGoneError } from '../../src/errors.ts'
import { Instrumentation } from '../../src/observe/instrumentation.ts'
import type { Heartbeat, HeartbeatResult } from '../../src/stores/heartbeats.ts'
import type { Store } from '../../src/stores/store.ts'
import type { SubscriptionRecord } from '../../src/stores/subscription-record.ts'
import type { TopicRecord } from '../../src/stores/topic-record.ts'
import { SILENT } from '../conformance/stores.ts'

const MINUTE = 60_000
const HEARTBEAT = { intervalMs: MINUTE, timeoutMs: 5 * MINUTE, deadAfterMisses: 3 }

type Member = Beating & { readonly reasons: Error[] }

function memberOf(uid: number): Member {
  const reasons: Error[] = []
  return {
    topic: { name: 'news', config: { semantics: 'pub-sub' } } as TopicRecord,
    subscription: { id: 1, uid, group: 'g', heartbeat: HEARTBEAT } as SubscriptionRecord,
    resurrected: () => undefined,
    ended: reason => reasons.push(reason),
    reasons,
  }
}

function senderTo(answer: (beats: readonly Heartbeat[]) => HeartbeatResult[]) {
  const sent: (readonly Heartbeat[])[] = []
  const send = async (beats: readonly Heartbeat[]): Promise<HeartbeatResult[]> => {
    sent.push(beats)
    return answer(beats)
  }
  const store = { heartbeats: { send } } as unknown as Store
  return { sent, sender: new HeartbeatSender(store, new Instrumentation(SILENT), new Vitals()) }
}

const alive = (beats: readonly Heartbeat[]): HeartbeatResult[] =>
  beats.map(({ subscriptionId }) => ({ subscriptionId, status: 'ACTIVE', resurrected: null }))

describe('the heartbeats of a process', () => {
  it('go on for the others when one member of a group leaves', async () => {
    const { sent, sender } = senderTo(alive)
    const [one, other] = [memberOf(7), memberOf(7)]
    sender.join(one)
    sender.join(other)
    await sender.leave(one)
    assert.equal(sent.length, 0)
    sender.count(1, { processed: 3 })
    await sender.leave(other)
    assert.deepEqual(
      sent.map(beats => beats.map(({ processed }) => processed)),
      [[3]],
    )
    sender.stop()
  })

  it('end for the members of a group whose id another one has now', () => {
    const { sender } = senderTo(alive)
    const [former, present] = [memberOf(7), memberOf(8)]
    sender.join(former)
    sender.join(present)
    assert.deepEqual([former.reasons.length, present.reasons.length], [1, 0])
    assert.ok(former.reasons[0] instanceof SubscriptionGoneError)
    sender.stop()
  })

  it('that fail are tried again after seconds, not after their interval', async t => {
    let now = 0
    t.mock.method(performance, 'now', () => now)
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const { sent, sender } = senderTo(() => {
      throw new Error('no answer')
    })
    const pass = async (ms: number): Promise<void> => {
      now += ms
      t.mock.timers.tick(ms)
      await new Promise(resolve => setImmediate(resolve))
    }
    sender.join(memberOf(7))
    await pass(MINUTE)
    assert.equal(sent.length, 1)
    await pass(1_000)
    await pass(2_000)
    assert.equal(sent.length, 3)
    sender.stop()
  })
})
