import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { BackfillError, InvalidTransitionError, TooManyGroupsError } from '../index.ts'
import { type ConformanceStores, needs } from './conformance-store.ts'
import { range } from './consuming.ts'
import { it } from './it.ts'
import { openStore } from './open-store.ts'
import { die, remove, Work } from './reference.ts'
import { until } from './until.ts'

export function referenceTracking({ secluded }: ConformanceStores): void {
  for (const engine of secluded) {
    describe(engine.name, needs(engine, 'tracking'), () => {
      describe('a message of a topic with reference tracking', () => {
        it('is required of the groups that are live when it is published, and completed by those that acked it', async () => {
          await using database = await engine.fresh()
          await using store = await openStore(database)
          const work = await Work.on(store)
          await work.subscribe('a')
          await work.publish(1)
          await work.subscribe('b')
          await store.subscriptions.setStatus(work.topic, work.group('b'), 'PAUSED')
          await work.publish(1)
          assert.deepEqual(
            await work.completion(),
            new Map([
              [1, { required: 'a', completed: '' }],
              [2, { required: 'a,b', completed: '' }],
            ]),
          )
          assert.deepEqual(await work.drain('a'), [1, 2])
          assert.deepEqual(
            await work.completion(),
            new Map([
              [1, { required: 'a', completed: 'a' }],
              [2, { required: 'a,b', completed: 'a' }],
            ]),
          )
        })

        it('is completed by a dead letter, of a nack and of an expired lease', async () => {
          await using database = await engine.fresh()
          await using store = await openStore(database)
          const work = await Work.on(store, { maxAttempts: 1 })
          await work.subscribe('a')
          await work.publish(2)
          const [first] = [await work.claim('a', 1)]
          assert.ok(first)
          await work.bury(first)
          await work.claim('a', 1)
          await database.expireLeases()
          assert.deepEqual(await work.drain('a'), [])
          const done = { required: 'a', completed: 'a' }
          assert.deepEqual(
            await work.completion(),
            new Map([
              [1, done],
              [2, done],
            ]),
          )
        })

        it('is completed slot by slot if a page is settled in parts', async () => {
          await using database = await engine.fresh()
          await using store = await openStore(database)
          const work = await Work.on(store)
          await work.subscribe('a')
          await work.publish(4)
          const lease = await work.claim('a')
          assert.ok(lease)
          const { token, size } = lease
          const error = { name: 'Error', message: 'later' }
          const part = { token, size, maxAttempts: 5, releases: [] }
          await store.leases.settle([{ ...part, acks: [1], nacks: [{ slot: 2, delayMs: 60_000, error }] }])
          assert.deepEqual(completedIds(await work.completion()), [2])
          await store.leases.settle([{ ...part, acks: 'all', nacks: [] }])
          assert.deepEqual(completedIds(await work.completion()), [1, 2, 4])
        })
      })

      describe('64 groups', () => {
        it('are all distinguished, and the 65th is refused', async () => {
          await using database = await engine.fresh()
          await using store = await openStore(database)
          const work = await Work.on(store)
          const names = range(1, 64).map(number => `g${String(number).padStart(2, '0')}`)
          for (const name of names) await work.subscribe(name)
          await assert.rejects(work.subscribe('one-too-many'), TooManyGroupsError)
          await work.publish(1)
          for (const last of ['g64', 'g63', 'g01']) await work.drain(last)
          assert.deepEqual(
            await work.completion(),
            new Map([[1, { required: names.join(), completed: 'g01,g63,g64' }]]),
          )
        })

        it('that join at once from several processes get a bit each', async () => {
          await using database = await engine.fresh()
          await using one = await openStore(database)
          await using other = await openStore(database)
          const works = [await Work.on(one), await Work.on(other)]
          await Promise.all(range(1, 40).map(number => works[number % 2]?.subscribe(`g${number}`)))
          const names = range(1, 40).map(number => `g${number}`)
          await works[0]?.publish(1)
          await works[1]?.drain('g7')
          const [message] = (await works[0]?.completion())?.values() ?? []
          assert.deepEqual(message, { required: names.sort().join(), completed: 'g7' })
        })
      })

      describe('the bit of a removed group', () => {
        it('is reassigned only when it is cleared from every message', async () => {
          await using database = await engine.fresh()
          await using store = await openStore(database)
          const work = await Work.on(store)
          for (const number of range(1, 64)) await work.subscribe(`g${number}`)
          await work.publish(5)
          await work.drain('g1')
          await store.subscriptions.setStatus(work.topic, work.group('g1'), 'CANCELLED')
          await remove(work, 'g1')
          await assert.rejects(work.subscribe('new'), TooManyGroupsError)
          assert.equal(await until(() => work.clearAll(2), { what: 'the wipe' }), 5)
          await work.subscribe('new')
          const all = await work.completion()
          assert.equal(all.size, 5)
          for (const { required, completed } of all.values()) {
            assert.ok(!required.split(',').includes('new'))
            assert.equal(completed, '')
          }
          const [id] = await work.publish(1)
          assert.deepEqual(await work.drain('new'), [id])
          assert.equal((await work.completion()).get(id ?? 0)?.completed, 'new')
        })
      })

      describe('a dead group', () => {
        it('is cleared from what it has not processed, page by page, once per epoch', async () => {
          await using database = await engine.fresh()
          await using store = await openStore(database)
          const work = await Work.on(store)
          await work.subscribe('a')
          await work.subscribe('b')
          await work.publish(5)
          const lease = await work.claim('a', 2)
          assert.ok(lease)
          await work.ack(lease)
          await die(database, work, 'a')
          await work.publish(1)
          assert.equal(await until(() => work.clearAll(2), { what: 'the clearing' }), 3)
          assert.deepEqual(
            [...(await work.completion()).values()].map(({ required }) => required),
            ['a,b', 'a,b', 'b', 'b', 'b', 'b'],
          )
          assert.deepEqual(await store.tracking.clearBits(10), { cleared: 0, more: false })
        })
      })

      describe('a late joiner', () => {
        it('gets earlier messages by a backfill, and new ones by the live stream', async () => {
          await using database = await engine.fresh()
          await using store = await openStore(database)
          const work = await Work.on(store)
          const before = await work.publish(10)
          await work.subscribe('late', 'beginning')
          const after = await work.publish(3)
          assert.deepEqual(await work.drain('late', 2), after)
          const record = await work.backfill('late', 4)
          assert.ok(record !== 'lost')
          assert.equal(record.status, 'COMPLETED')
          assert.equal(record.processed, 10)
          assert.deepEqual(await work.drain('late', 3), before)
          assert.deepEqual(await work.drain('late'), [])
          for (const { required, completed } of (await work.completion()).values()) {
            assert.deepEqual({ required, completed }, { required: 'late', completed: 'late' })
          }
        })

        it('gets everything retained, unless it asks for what is pending', async () => {
          await using database = await engine.fresh()
          await using store = await openStore(database)
          const work = await Work.on(store)
          const unseen = await work.publish(2)
          await work.subscribe('first')
          const done = await work.publish(3)
          await work.drain('first')
          const open = await work.publish(2)
          await work.subscribe('pending', 'beginning', { scope: 'pending' })
          await work.backfill('pending')
          assert.deepEqual(await work.drain('pending'), [...unseen, ...open])
          await work.subscribe('retained', 'beginning')
          await work.backfill('retained')
          assert.deepEqual(await work.drain('retained'), [...unseen, ...done, ...open])
        })

        it('gets no more than its limit, the newest', async () => {
          await using database = await engine.fresh()
          await using store = await openStore(database)
          const work = await Work.on(store)
          await work.publish(10)
          await work.subscribe('late', 'beginning', { maxMessages: 3 })
          await work.backfill('late')
          assert.deepEqual(await work.drain('late'), [8, 9, 10])
        })

        it('continues where a killed runner stopped, and refuses the one that comes back', async () => {
          await using database = await engine.fresh()
          await using store = await openStore(database)
          const work = await Work.on(store)
          const before = await work.publish(10)
          await work.subscribe('late', 'beginning')
          const { id } = work.group('late')
          assert.ok(await store.backfills.take('00000000-0000-4000-8000-000000000001', 60_000, work.group('late')))
          const killed = { token: '00000000-0000-4000-8000-000000000001', limit: 4, ttlMs: 60_000 }
          await store.backfills.runBatch(id, killed)
          assert.equal(await work.backfill('late'), 'lost')
          await database.orphanBackfills()
          await work.backfill('late', 3, 1)
          assert.equal(await store.backfills.runBatch(id, killed), 'lost')
          assert.deepEqual(await work.drain('late'), before.slice(0, 7))
          await database.orphanBackfills()
          await work.backfill('late')
          assert.deepEqual(await work.drain('late'), before.slice(7))
        })

        it('keeps what it has when its backfill is cancelled, and continues when that is resumed', async () => {
          await using database = await engine.fresh()
          await using store = await openStore(database)
          const work = await Work.on(store)
          const before = await work.publish(10)
          await work.subscribe('late', 'beginning')
          await work.backfill('late', 4, 1)
          const group = work.group('late')
          await store.backfills.setStatus(work.topic, group, 'CANCELLED')
          await assert.rejects(store.backfills.setStatus(work.topic, group, 'CANCELLED'), BackfillError)
          assert.equal(await work.backfill('late'), 'lost')
          assert.deepEqual(await work.drain('late'), before.slice(0, 4))
          await store.backfills.setStatus(work.topic, group, 'RUNNING')
          await work.backfill('late')
          assert.deepEqual(await work.drain('late'), before.slice(4))
        })
      })

      describe('a requested backfill', () => {
        it('redelivers what is retained to a group', async () => {
          await using database = await engine.fresh()
          await using store = await openStore(database)
          const work = await Work.on(store)
          await work.subscribe('a')
          const ids = await work.publish(5)
          const held = await work.claim('a', 2)
          assert.ok(held)
          await work.drain('a')
          const waiting = await work.publish(2)
          const plan = {
            scope: 'retained',
            maxMessages: null,
            batchSize: 10,
            maxPerSecond: 1_000,
            targetMs: 10,
          } as const
          await store.backfills.start(work.topic, work.group('a'), 'beginning', plan)
          await assert.rejects(store.backfills.start(work.topic, work.group('a'), 'beginning', plan), BackfillError)
          await work.backfill('a')
          // The holder of a lease will process its messages.
          assert.deepEqual(await work.drain('a'), [...ids.slice(2), ...waiting])
          await work.ack(held)
          assert.deepEqual(completedIds(await work.completion()), [...ids, ...waiting])
        })

        it('never cuts off what the group has not reached yet', async () => {
          await using database = await engine.fresh()
          await using store = await openStore(database)
          const work = await Work.on(store)
          await work.subscribe('a')
          const ids = await work.publish(6)
          const plan = { scope: 'pending', maxMessages: 1, batchSize: 10, maxPerSecond: 1_000, targetMs: 10 } as const
          await store.backfills.start(work.topic, work.group('a'), { timestamp: Date.now() + 60_000 }, plan)
          await work.backfill('a')
          assert.deepEqual(await work.drain('a'), ids)
        })

        it('is refused to a cancelled group, and in a topic tracked by offset', async () => {
          await using database = await engine.fresh()
          await using store = await openStore(database)
          const work = await Work.on(store)
          const plan = { scope: 'pending', maxMessages: 1, batchSize: 10, maxPerSecond: 1_000, targetMs: 10 } as const
          await work.subscribe('a')
          const start = (): Promise<unknown> => store.backfills.start(work.topic, work.group('a'), 'beginning', plan)
          await store.subscriptions.setStatus(work.topic, work.group('a'), 'CANCELLED')
          await assert.rejects(start, InvalidTransitionError)
          await work.switchTo('offset')
          await work.subscribe('b')
          await assert.rejects(
            store.backfills.start(work.topic, work.group('b'), 'beginning', plan),
            (error: Error) => error instanceof BackfillError && /tracked by offset/.test(error.message),
          )
        })
      })

      describe('messages that wait for groups that are not live', () => {
        it('are completed once they are old enough', async () => {
          await using database = await engine.fresh()
          await using store = await openStore(database)
          const work = await Work.on(store)
          await work.subscribe('dead')
          await work.publish(2)
          await work.subscribe('live')
          await work.publish(1)
          await die(database, work, 'dead')
          assert.equal(await store.tracking.completeOrphans(work.topic, 60_000), 0)
          assert.equal(await until(() => store.tracking.completeOrphans(work.topic, 0), { what: 'time to pass' }), 2)
          const required = [...(await work.completion()).values()].map(each => each.required)
          assert.deepEqual(required, ['', '', 'dead,live'])
        })
      })
    })
  }
}

const completedIds = (completion: Map<number, { completed: string }>): number[] =>
  [...completion].filter(([, { completed }]) => completed !== '').map(([id]) => id)
