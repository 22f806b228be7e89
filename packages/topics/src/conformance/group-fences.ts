/** The conditions of what ends, removes and revives a group, one by one: through the store, below the checks above it. */
import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { InvalidTransitionError } from '../index.ts'
import { type ConformanceDatabase, type ConformanceStores, needs } from './conformance-store.ts'
import { range } from './consuming.ts'
import { TIMEOUT_MS } from './dying.ts'
import { it } from './it.ts'
import { openStore } from './open-store.ts'
import { cleared, die, remove, resurrect, Work } from './reference.ts'
import { until } from './until.ts'

const BITS = 64

export function groupFences({ secluded }: ConformanceStores): void {
  for (const engine of secluded) {
    describe(`a group on ${engine.name}`, needs(engine, 'tracking'), () => {
      const test = (name: string, body: (work: Work, database: ConformanceDatabase) => Promise<void>): void => {
        it(name, async () => {
          await using database = await engine.fresh()
          await using store = await openStore(database)
          await body(await Work.on(store), database)
        })
      }

      test('is removed only after it has ended', async (work, database) => {
        await work.subscribe('g')
        await work.publish(1)
        const lease = await work.claim('g')
        assert.ok(lease)
        const { subscriptions, leases } = work.store
        await assert.rejects(remove(work, 'g'), InvalidTransitionError)
        await subscriptions.setStatus(work.topic, work.group('g'), 'PAUSED')
        await assert.rejects(remove(work, 'g'), InvalidTransitionError)
        await subscriptions.setStatus(work.topic, work.group('g'), 'ACTIVE')
        await die(database, work, 'g')
        await remove(work, 'g')
        // Repeating it is harmless.
        await remove(work, 'g')
        assert.equal(await leases.size(lease.token), undefined)
      })

      test('that has ended is cleaned up only after its bits are cleared', async (work, database) => {
        await work.subscribe('g')
        await work.publish(3)
        await die(database, work, 'g')
        const ended = async () => (await work.store.subscriptions.ended(0)).map(each => each.subscription.group)
        assert.deepEqual(await ended(), [])
        await cleared(work)
        assert.deepEqual(await ended(), ['g'])
        assert.deepEqual(await work.store.subscriptions.ended(3_600_000), [])
      })

      test('that finds no place among the others does not take their heartbeats along', async (work, database) => {
        await work.subscribe('dead')
        await die(database, work, 'dead')
        await crowd(work)
        const beats = ['dead', 'g1'].map(name => {
          const { id: subscriptionId, uid: subscriptionUid } = work.group(name)
          return { subscriptionId, subscriptionUid, processed: 7, failed: 0, filtered: 0 }
        })
        const [dead, live] = await work.store.heartbeats.send(beats)
        assert.deepEqual([dead?.status, dead?.resurrected], ['DEAD', null])
        assert.deepEqual([live?.status, live?.resurrected], ['ACTIVE', null])
        const { groups } = await work.store.inspection.describe(work.topic)
        assert.equal(groups.find(({ group }) => group === 'g1')?.processed, 7)
      })

      test('that beats once between two silences has not recovered', async (work, database) => {
        await work.subscribe('g')
        const misses = async () => (await work.store.inspection.describe(work.topic)).groups[0]?.heartbeat.misses
        await database.ageGroups(TIMEOUT_MS + 1_000)
        await work.store.heartbeats.detectDead()
        await beat(work, 'g')
        assert.equal(await misses(), 1)
        // A whole timeout without a miss: it has.
        await database.ageGroups(TIMEOUT_MS + 1_000)
        await beat(work, 'g')
        assert.equal(await misses(), 0)
      })

      test('that is alive is not resurrected by its heartbeat', async work => {
        await work.subscribe('g')
        const epoch = async () => (await work.store.inspection.describe(work.topic)).groups[0]?.epoch
        const before = await epoch()
        await beat(work, 'g')
        assert.equal(await epoch(), before)
      })

      test('that was cancelled is not kept alive by heartbeats', async (work, database) => {
        await work.subscribe('g')
        await work.store.subscriptions.setStatus(work.topic, work.group('g'), 'CANCELLED')
        const before = await database.contents()
        assert.equal((await beat(work, 'g'))?.status, 'CANCELLED')
        assert.deepEqual(await database.contents(), before)
      })

      test('that comes back with messages in hand gets them once', async (work, database) => {
        await work.subscribe('g')
        await work.publish(6)
        assert.ok(await work.claim('g', 2))
        await die(database, work, 'g')
        await cleared(work)
        await resurrect(work, 'g')
        await work.backfill('g')
        assert.deepEqual((await work.drain('g')).sort(), range(1, 6))
        const open = await work.store.tracking.completion(work.topic, { after: 0, limit: 100, unfinished: true })
        assert.deepEqual(open, [])
      })

      test('that comes back in a backfill with live messages in hand backfills the others only', async (work, database) => {
        await work.publish(6)
        await work.subscribe('g', 'beginning')
        await work.publish(3)
        const live = await work.claim('g', 2)
        assert.deepEqual(
          live?.messages.map(({ id }) => id),
          [7, 8],
        )
        await die(database, work, 'g')
        await cleared(work)
        await resurrect(work, 'g')
        assert.deepEqual(await requiredOf(work, 'g'), [7, 8])
        const record = await work.backfill('g')
        assert.equal(record !== 'lost' && record.processed, 7)
        assert.deepEqual(await requiredOf(work, 'g'), range(1, 9))
        assert.deepEqual((await work.drain('g')).sort(), range(1, 9))
      })

      test('that had completed some of its messages when it died gets only the others', async (work, database) => {
        await work.subscribe('g')
        await work.publish(6)
        const lease = await work.claim('g', 4)
        assert.ok(lease)
        const { token, size } = lease
        await work.store.leases.settle([{ token, size, maxAttempts: 5, acks: [0, 2], nacks: [], releases: [] }])
        await die(database, work, 'g')
        // Its bit is taken away, and given to others meanwhile.
        await crowd(work)
        await work.store.subscriptions.setStatus(work.topic, work.group('g7'), 'CANCELLED')
        await until(
          () =>
            work.clearAll().then(() =>
              resurrect(work, 'g').then(
                () => true,
                () => false,
              ),
            ),
          {
            what: 'a place for the group',
          },
        )
        await work.backfill('g')
        assert.deepEqual((await work.drain('g')).sort(), [2, 4, 5, 6])
      })
    })
  }
}

/** As many live groups as there are bits: ended groups give up theirs. */
async function crowd(work: Work): Promise<void> {
  for (const n of range(1, BITS)) {
    await until(
      async () => {
        await work.clearAll()
        return await work.subscribe(`g${n}`).then(
          () => true,
          () => false,
        )
      },
      { what: `place for group g${n}` },
    )
  }
}

async function beat(work: Work, group: string) {
  const { id: subscriptionId, uid: subscriptionUid } = work.group(group)
  const counts = { processed: 1, failed: 0, filtered: 0 }
  const [result] = await work.store.heartbeats.send([{ subscriptionId, subscriptionUid, ...counts }])
  return result
}

async function requiredOf(work: Work, group: string): Promise<number[]> {
  const rows = [...(await work.completion())]
  return rows.filter(([, { required }]) => required.split(',').includes(group)).map(([id]) => id)
}
