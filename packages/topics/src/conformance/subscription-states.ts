import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { InvalidTransitionError, SubscriptionGoneError, type SubscriptionStatus } from '../index.ts'
import type { GroupDescription } from '../stores/inspection.ts'
import type { Store } from '../stores/store.ts'
import type { TopicRecord } from '../stores/topic-record.ts'
import type { ConformanceDatabase, ConformanceStores } from './conformance-store.ts'
import { it } from './it.ts'
import { openStore } from './open-store.ts'

const STATUSES: readonly SubscriptionStatus[] = ['ACTIVE', 'PAUSED', 'DEAD', 'CANCELLED']
const ALLOWED: Record<SubscriptionStatus, readonly SubscriptionStatus[]> = {
  ACTIVE: ['PAUSED', 'CANCELLED'],
  PAUSED: ['ACTIVE', 'CANCELLED'],
  DEAD: ['CANCELLED'],
  // Cancelling twice changes nothing.
  CANCELLED: ['CANCELLED'],
}

export function subscriptionStates({ shared }: ConformanceStores): void {
  for (const store of shared) {
    describe(`the states of a subscription on ${store.name}`, () => {
      for (const from of STATUSES) {
        for (const to of STATUSES) {
          const isAllowed = ALLOWED[from].includes(to)
          it(`${from} → ${to} is ${isAllowed ? 'allowed' : 'refused, and changes nothing'}`, async () => {
            await using bench = await benchOf(await store.fresh(), from)
            const { direct, topic, row } = bench
            const subscription = await direct.subscriptions.find(topic, 'g')
            assert.ok(subscription)
            const before = await row()
            if (isAllowed) {
              await direct.subscriptions.setStatus(topic, subscription, to)
              const after = await row()
              if (from === to) assert.deepEqual(after, before)
              assert.equal(after.status, to)
              assert.equal(after.epoch, Number(before.epoch) + (to === 'ACTIVE' ? 1 : 0))
            } else {
              await assert.rejects(direct.subscriptions.setStatus(topic, subscription, to), (error: unknown) => {
                assert.ok(error instanceof InvalidTransitionError)
                assert.deepEqual([error.from, error.to], [from, to])
                return true
              })
              assert.deepEqual(await row(), before)
            }
          })
        }

        it(`${from} is ${['DEAD', 'CANCELLED'].includes(from) ? '' : 'not '}removed`, async () => {
          await using bench = await benchOf(await store.fresh(), from)
          const { direct, topic } = bench
          const subscription = await direct.subscriptions.find(topic, 'g')
          assert.ok(subscription)
          if (from === 'DEAD' || from === 'CANCELLED') {
            await direct.subscriptions.remove(topic, subscription)
            assert.equal(await direct.subscriptions.find(topic, 'g'), undefined)
            await direct.subscriptions.remove(topic, subscription)
            await assert.rejects(
              direct.subscriptions.setStatus(topic, subscription, 'CANCELLED'),
              SubscriptionGoneError,
            )
          } else {
            await assert.rejects(direct.subscriptions.remove(topic, subscription), InvalidTransitionError)
            assert.equal((await direct.subscriptions.find(topic, 'g'))?.status, from)
          }
        })

        it(`a heartbeat finds ${from} ${from === 'DEAD' ? 'and resurrects it' : 'and leaves it so'}`, async () => {
          await using bench = await benchOf(await store.fresh(), from)
          const { direct, topic, row } = bench
          const subscription = await direct.subscriptions.find(topic, 'g')
          const ref = { subscriptionId: subscription?.id ?? 0, subscriptionUid: subscription?.uid ?? 0 }
          const [result, gone] = await direct.heartbeats.send([
            { ...ref, processed: 1, failed: 2, filtered: 3 },
            { subscriptionId: 4711, subscriptionUid: 1, processed: 0, failed: 0, filtered: 0 },
          ])
          const after = await row()
          assert.equal(gone?.status, 'GONE')
          assert.equal(result?.status, from === 'DEAD' ? 'ACTIVE' : from)
          assert.deepEqual(
            result?.resurrected,
            from === 'DEAD' ? { epoch: 2, skipped: 0, lost: 0, backfill: false } : null,
          )
          assert.equal(after.status, result?.status)
          assert.equal(after.epoch, from === 'DEAD' ? 2 : 1)
          const counted = from === 'CANCELLED' ? [0, 0, 0] : [1, 2, 3]
          assert.deepEqual([after.processed, after.failed, after.filtered], counted)
        })

        it(`a subscribe finds ${from} ${from === 'CANCELLED' ? 'and is refused' : 'and continues'}`, async () => {
          await using bench = await benchOf(await store.fresh(), from)
          const { direct, topic } = bench
          if (from === 'CANCELLED') {
            await assert.rejects(direct.subscriptions.subscribe(topic, 'g', 'now'), InvalidTransitionError)
            return
          }
          const subscription = await direct.subscriptions.subscribe(topic, 'g', 'now')
          assert.equal(subscription.created, false)
          assert.equal(subscription.status, from === 'DEAD' ? 'ACTIVE' : from)
          assert.equal(subscription.epoch, from === 'DEAD' ? 2 : 1)
          assert.equal(subscription.resurrected?.epoch, from === 'DEAD' ? 2 : undefined)
        })
      }
    })
  }
}

type Bench = AsyncDisposable & { direct: Store; topic: TopicRecord; row(): Promise<GroupDescription> }

/** Brings a group 'g' into this state through the public API. */
async function benchOf(database: ConformanceDatabase, status: SubscriptionStatus): Promise<Bench> {
  const direct = await openStore(database)
  const topic = await direct.topics.configure('events', { semantics: 'pub-sub' })
  const heartbeat = { intervalMs: 1, timeoutMs: 2, deadAfterMisses: 1 }
  const subscription = await direct.subscriptions.subscribe(topic, 'g', 'now', { heartbeat })
  if (status === 'DEAD') {
    await database.ageGroups(1_000)
    assert.equal((await direct.heartbeats.detectDead()).dead.length, 1)
  } else if (status !== 'ACTIVE') {
    await direct.subscriptions.setStatus(topic, subscription, status)
  }
  return {
    direct,
    topic,
    async row() {
      const { groups } = await direct.inspection.describe(topic)
      const group = groups.find(each => each.group === 'g')
      assert.ok(group)
      return group
    },
    async [Symbol.asyncDispose]() {
      await direct.close()
      await database[Symbol.asyncDispose]()
    },
  }
}
