/** The conditions of each step of a backfill, one by one: who may take it, run it and start it, and what it delivers. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe } from 'node:test'
import { DEFAULT_BACKFILL } from '../backfill/backfill-plan.ts'
import { BackfillError } from '../index.ts'
import type { BackfillPlan, BackfillRecord } from '../stores/backfills.ts'
import type { StartPosition } from '../stores/subscription-record.ts'
import { cleanerOf, DAY } from './cleaning.ts'
import { type ConformanceDatabase, type ConformanceStores, needs } from './conformance-store.ts'
import { range } from './consuming.ts'
import { it } from './it.ts'
import { openStore } from './open-store.ts'
import { die, resurrect, Work } from './reference.ts'
import { until } from './until.ts'

const TTL_MS = 60_000

export function backfillFences({ secluded }: ConformanceStores): void {
  for (const engine of secluded) {
    describe(`a backfill on ${engine.name}`, needs(engine, 'tracking'), () => {
      const test = (
        name: string,
        body: (work: Work, database: ConformanceDatabase) => Promise<void>,
        skip: { readonly skip?: string } = {},
      ): void => {
        it(name, skip, async () => {
          await using database = await engine.fresh()
          await using store = await openStore(database)
          await body(await Work.on(store), database)
        })
      }

      test('is run by nobody else while its lease holds', async work => {
        await late(work, 30)
        await take(work)
        assert.equal(await work.store.backfills.take(randomUUID(), TTL_MS, work.group('late')), null)
        assert.equal(await work.store.backfills.take(randomUUID(), TTL_MS), null)
      })

      test('is no longer run by whom it was taken from', async (work, database) => {
        await late(work, 30)
        const first = await take(work)
        assert.equal(checkpointOf(await batch(work, first)), 10)
        await database.orphanBackfills()
        const second = await take(work)
        const before = await database.contents()
        assert.equal(await batch(work, first), 'lost')
        assert.deepEqual(await database.contents(), before)
        assert.equal(checkpointOf(await batch(work, second)), 20)
      })

      test(
        'that is taken over in the middle of a batch keeps its checkpoint, and what the batch marked is undone',
        async (work, database) => {
          await late(work, 30)
          const first = await take(work)
          await batch(work, first)
          const held = await database.lock()
          const running = batch(work, first)
          await until(() => held.isWaitedFor(), { what: 'the batch to wait' })
          await database.orphanBackfills()
          const second = await take(work)
          await held[Symbol.asyncDispose]()
          assert.equal(await running, 'lost')
          const record = await work.store.backfills.find(work.group('late'))
          assert.deepEqual([record?.checkpointId, record?.processed], [10, 10])
          assert.equal((await work.completion()).get(11)?.required ?? '', '')
          assert.equal(checkpointOf(await batch(work, second)), 20)
        },
        needs(engine, 'concurrent transactions'),
      )

      test('that was cancelled marks nothing more', async (work, database) => {
        await late(work, 30)
        const token = await take(work)
        await batch(work, token)
        await work.store.backfills.setStatus(work.topic, work.group('late'), 'CANCELLED')
        const before = await database.contents()
        assert.equal(await batch(work, token), 'lost')
        assert.equal(await work.store.backfills.take(randomUUID(), TTL_MS), null)
        assert.deepEqual(await database.contents(), before)
      })

      test('of a group that died marks nothing more, and is taken over by nobody', async (work, database) => {
        await late(work, 30)
        const token = await take(work)
        await batch(work, token)
        await die(database, work, 'late')
        await database.orphanBackfills()
        const before = await database.contents()
        assert.equal(await batch(work, token), 'lost')
        assert.equal(await work.store.backfills.take(randomUUID(), TTL_MS), null)
        assert.deepEqual(await database.contents(), before)
      })

      test('goes on while its group is paused', async work => {
        await late(work, 30)
        await work.store.subscriptions.setStatus(work.topic, work.group('late'), 'PAUSED')
        const record = await work.backfill('late')
        assert.deepEqual(record !== 'lost' && [record.status, record.processed], ['COMPLETED', 30])
        await work.store.subscriptions.setStatus(work.topic, work.group('late'), 'ACTIVE')
        assert.deepEqual(await work.drain('late'), range(1, 30))
      })

      test('is not started over one that is still to be delivered', async work => {
        await late(work, 30)
        await assert.rejects(start(work), BackfillError)
        await work.backfill('late')
        const lease = await work.claim('late', 10)
        assert.ok(lease)
        await work.ack(lease)
        await assert.rejects(start(work), BackfillError)
        assert.deepEqual(await work.drain('late'), range(11, 30))
        await start(work)
      })

      for (const [what, from, plan] of [
        ['limit', 'beginning', { maxMessages: 1 }],
        ['position', 'now', {}],
        ['position in time', { timestamp: Date.now() + 3_600_000 }, {}],
      ] as const) {
        test(`started with a ${what} still delivers what the group had not reached`, async work => {
          await work.subscribe('late')
          await work.publish(5)
          await start(work, from, plan)
          await work.backfill('late')
          assert.deepEqual(await work.drain('late'), range(1, 5))
        })
      }

      test('of what is pending leaves out what the group has completed', async work => {
        await work.subscribe('late')
        await work.subscribe('slow')
        await work.publish(5)
        const lease = await work.claim('late', 3)
        assert.ok(lease)
        await work.ack(lease)
        await start(work, 'beginning', { scope: 'pending' })
        await work.backfill('late')
        assert.deepEqual(await work.drain('late'), [4, 5])
        // With everything retained, it comes again.
        await start(work, 'beginning', { scope: 'retained' })
        await work.backfill('late')
        assert.deepEqual(await work.drain('late'), range(1, 5))
      })

      test('of everything retained has no limit, though some of it still waits', async work => {
        await work.subscribe('late')
        await work.publish(5)
        const lease = await work.claim('late', 3)
        assert.ok(lease)
        await work.ack(lease)
        await start(work, 'beginning', { maxMessages: null })
        await work.backfill('late')
        assert.deepEqual(await work.drain('late'), range(1, 5))
      })

      test('leaves to the group what it holds', async work => {
        await work.subscribe('late')
        await work.publish(5)
        const lease = await work.claim('late', 2)
        assert.ok(lease)
        await start(work)
        await work.backfill('late')
        assert.deepEqual(await work.drain('late'), [3, 4, 5])
        await work.ack(lease)
        assert.deepEqual(await work.drain('late'), [])
      })

      test('that was half delivered when its group died is continued when the group comes back', async (work, database) => {
        await late(work, 30)
        await work.backfill('late')
        const lease = await work.claim('late', 10)
        assert.ok(lease)
        await work.ack(lease)
        await die(database, work, 'late')
        await work.publish(5)
        await resurrect(work, 'late')
        await work.backfill('late')
        assert.deepEqual(await work.drain('late'), range(11, 35))
      })

      test('that was half run when its group died is continued when the group comes back', async (work, database) => {
        await late(work, 30)
        await work.backfill('late', 10, 1)
        assert.deepEqual(await work.drain('late'), range(1, 10))
        await die(database, work, 'late')
        await resurrect(work, 'late')
        await database.orphanBackfills()
        await work.backfill('late')
        assert.deepEqual(await work.drain('late'), range(11, 30))
      })

      it('keeps what it has yet to mark, and then to deliver, from being removed', async () => {
        await using database = await engine.fresh()
        await using cleaner = await cleanerOf(database)
        const day = { retentionMs: DAY, zeroSubscriptionRetentionMs: DAY, partitionRows: 10 }
        const work = await Work.on(cleaner.store, day)
        await late(work, 9)
        await work.publish(5)
        await cleaner.age('events', 2 * DAY)
        assert.equal((await cleaner.runOnce()).removed, 0)
        assert.equal(await watermark(work), 0)
        await work.backfill('late')
        assert.equal((await cleaner.runOnce()).removed, 0)
        assert.equal(await watermark(work), 0)
        assert.deepEqual((await work.drain('late')).length, 14)
        assert.ok((await cleaner.run()).removed >= 9)
      })
    })
  }
}

/** A group 'late' that joins after this many messages, with its backfill to be run. */
async function late(work: Work, messages: number): Promise<void> {
  await work.publish(messages)
  await work.subscribe('late', 'beginning')
}

async function take(work: Work): Promise<string> {
  const token = randomUUID()
  assert.ok(await work.store.backfills.take(token, TTL_MS, work.group('late')), 'The backfill cannot be taken')
  return token
}

const batch = (work: Work, token: string): Promise<BackfillRecord | 'lost'> =>
  work.store.backfills.runBatch(work.group('late').id, { token, limit: 10, ttlMs: TTL_MS })

const checkpointOf = (record: BackfillRecord | 'lost'): number | undefined =>
  record === 'lost' ? undefined : record.checkpointId

async function watermark(work: Work): Promise<number> {
  const { groups } = await work.store.inspection.describe(work.topic)
  return Number(groups.find(({ group }) => group === 'late')?.watermark)
}

const start = (
  work: Work,
  from: StartPosition = 'beginning',
  plan: Partial<BackfillPlan> = {},
): Promise<BackfillRecord> =>
  work.store.backfills.start(work.topic, work.group('late'), from, { ...DEFAULT_BACKFILL, ...plan })
