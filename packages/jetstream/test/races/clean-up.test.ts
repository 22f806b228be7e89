/**
 * Clean-up against whatever brings a group back to older messages: between any two of its steps another process resets,
 * redrives, subscribes or resurrects. Nothing that the group was brought back to may be passed over or removed silently.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { SubscriptionRecord, TopicRecord } from 'tidemark/store'
import { skipWithoutNats } from '../../../../testing/nats-binary.ts'
import { cleanUp } from '../../src/clean-up.ts'
import { topicKey } from '../../src/nats/names.ts'
import {
  ageMessages,
  claim,
  drain,
  EVERYTHING,
  numbersOf,
  type Parts,
  publishNumbers,
  range,
  SHORT_LIVED,
  servers,
  settle,
} from '../parts.ts'

type Scene = { readonly other: Parts; readonly topic: TopicRecord; readonly group: SubscriptionRecord }
type Case = {
  readonly what: string
  /** Before the clean-up, by the process that interferes. */
  readonly prepare?: (scene: Scene) => Promise<void>
  readonly interfere: (scene: Scene) => Promise<SubscriptionRecord>
  /** Messages that the group gets afterwards. */
  readonly expected: readonly number[]
  /** It has lost them before: it was dead when they were passed over. That is reported. */
  readonly isLostLate?: boolean
}

const STEPS = ['before its groups pass over anything', 'before it moves the first message'] as const
const ALL = range(1, 30)

const CASES: readonly Case[] = [
  {
    what: 'a reset to the beginning',
    interfere: async ({ other, topic, group }) => {
      await other.store.subscriptions.resetCursor(topic, group, 'beginning', EVERYTHING)
      return group
    },
    expected: ALL,
  },
  {
    what: 'a new group that starts at the beginning',
    interfere: ({ other, topic }) => other.store.subscriptions.subscribe(topic, 'late', 'beginning'),
    expected: ALL,
  },
  {
    what: 'a dead letter that is redriven',
    prepare: async ({ other, topic, group }) => {
      await other.store.subscriptions.resetCursor(topic, group, 'beginning', EVERYTHING)
      const lease = await claim(other, topic, group)
      assert.ok(lease)
      assert.deepEqual((await settle(other, lease, { nacks: [4] }, 1)).deadLettered, [4])
      await settle(other, lease, { acks: 'all' })
    },
    interfere: async ({ other, topic, group }) => {
      assert.equal((await other.store.deadLetters.redrive(topic, { limit: 10 })).redriven, 1)
      return group
    },
    expected: [5],
  },
  {
    what: 'a dead group that returns',
    prepare: async ({ other, topic, group }) => {
      await other.store.subscriptions.resetCursor(topic, group, 'beginning', EVERYTHING)
      // With no live group, messages would be kept for longer.
      await other.store.subscriptions.subscribe(topic, 'live', 'now')
      const ref = { topic: { id: topic.id, uid: topic.uid }, id: group.id }
      const { value, seq } = await other.steward.read(ref)
      const data = Buffer.from(JSON.stringify({ ...value, status: 'DEAD', steward: null }))
      await other.client.store([{ subject: other.ns.names.group(topicKey(topic), group.id), data, expected: seq }])
    },
    interfere: async ({ other, topic, group }) => {
      await other.store.subscriptions.resurrect(topic, group, { mode: 'continue', limit: null, plan: EVERYTHING })
      return group
    },
    expected: ALL,
    isLostLate: true,
  },
]

describe('clean-up', { skip: skipWithoutNats() }, () => {
  const { namespace } = servers()

  for (const { what, prepare, interfere, expected, isLostLate } of CASES) {
    for (const step of STEPS) {
      it(`meets ${what} ${step}`, async () => {
        const { open } = await namespace()
        await using parts = await open()
        await using other = await open()
        const topic = await parts.store.topics.configure('work', SHORT_LIVED)
        const group = await other.store.subscriptions.subscribe(topic, 'g', 'beginning')
        await publishNumbers(parts, topic, 1, 30)
        assert.deepEqual(await drain(other, topic, group), ALL)
        await ageMessages(parts, topic)
        const scene = { other, topic, group }
        await prepare?.(scene)
        let brought: SubscriptionRecord | undefined
        const once = async (): Promise<void> => {
          brought ??= await interfere(scene)
        }
        // The process that cleans up, with the other one in between.
        const { steward, topics } = parts
        if (step === STEPS[0]) {
          const { change } = steward
          steward.change = async function (this: typeof steward, ref, op) {
            if (op.kind === 'lose') await once()
            return await change.call(this, ref, op as never)
          } as typeof change
        } else {
          const { store } = parts.client
          const subject = parts.ns.names.topic(topicKey(topic))
          parts.client.store = async function (this: typeof parts.client, writes, id) {
            if (writes.at(-1)?.subject === subject) await once()
            return await store.call(this, writes, id)
          }
        }
        const step_ = await cleanUp(parts.ns, topics, steward, topic, 1_000)
        assert.ok(brought, 'nobody interfered')
        assert.deepEqual(step_.lost, [])
        const isLost = isLostLate === true && step !== STEPS[0]
        assert.deepEqual(await drain(other, topic, brought), isLost ? [] : expected)
        const { lost } = (await steward.read({ topic, id: brought.id })).value
        assert.equal(lost, isLost ? expected.length : 0)
        // With nobody behind, it is cleaned up after all.
        await cleanUp(parts.ns, topics, steward, topic, 1_000)
        const last = await claim(other, topic, brought)
        assert.deepEqual(numbersOf(last), [])
      })
    }
  }

  it('counts what a forced cap takes from a group with many pages of retries', async () => {
    const { open } = await namespace()
    await using parts = await open()
    const { store, ns, topics, steward } = parts
    const topic = await store.topics.configure('work', { ...SHORT_LIVED, maxRetentionMs: 1_000 })
    const group = await store.subscriptions.subscribe(topic, 'g', 'beginning')
    await publishNumbers(parts, topic, 1, 4_000)
    for (let taken = 0; taken < 3_000; ) {
      const lease = await claim(parts, topic, group, { limit: 500 })
      assert.ok(lease)
      taken += lease.size
      await settle(parts, lease, { nacks: range(0, lease.size - 1) }, 5, 3_600_000)
    }
    await ageMessages(parts, topic)
    const lost: number[] = []
    for (let more = true; more; ) {
      const step = await cleanUp(ns, topics, steward, topic, 700)
      more = step.more
      lost.push(...step.lost.map(({ count }) => count))
    }
    assert.equal(
      lost.reduce((a, b) => a + b, 0),
      4_000,
    )
    const { value } = await steward.read({ topic, id: group.id })
    assert.deepEqual([value.lost, value.retries.length, value.pages.length], [4_000, 0, 0])
  })
})
