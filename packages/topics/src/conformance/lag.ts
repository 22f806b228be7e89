import assert from 'node:assert/strict'
import { describe } from 'node:test'
import type { Tidemark } from '../index.ts'
import { type ConformanceStores, needs, needsTracking } from './conformance-store.ts'
import { collect, groupOf, range, receive } from './consuming.ts'
import { it } from './it.ts'
import { openStore } from './open-store.ts'
import { Work } from './reference.ts'
import { until } from './until.ts'

export function lag({ stores, shared }: ConformanceStores): void {
  for (const store of stores) {
    describe(store.name, () => {
      for (const tracking of ['offset', 'reference'] as const) {
        describe(`the lag of a group in a topic tracked by ${tracking}`, needsTracking(store, tracking), () => {
          for (const count of [1, 30, 2_500]) {
            it(`is everything that a reset redelivers: ${count} messages`, async () => {
              await using database = await store.fresh()
              const tm = await database.open({ maintenance: false })
              await consumeAll(tm, tracking, count)
              const before = await lagOf(tm)
              assert.deepEqual([before.messages, before.ms, before.backlog], [0, 0, 0])
              await tm.admin.resetGroup('events', 'g', 'beginning')
              const after = await lagOf(tm)
              assert.deepEqual([after.messages, after.backlog], [count, count])
              await until(async () => (await lagOf(tm)).ms > 0, { what: 'an age' })
              const { stuck } = await tm.admin.health({ stuckAfter: 0 })
              assert.deepEqual(
                stuck.map(({ topic }) => topic),
                ['events'],
              )
              await tm.admin.resetGroup('events', 'g', 'now')
              const skipped = await lagOf(tm)
              assert.deepEqual([skipped.messages, skipped.ms, skipped.backlog], [0, 0, 0])
              assert.deepEqual((await tm.admin.health({ stuckAfter: 0 })).stuck, [])
            })
          }

          it('goes down as the messages of a reset are claimed', async () => {
            await using database = await store.fresh()
            const tm = await database.open({ maintenance: false })
            await consumeAll(tm, tracking, 10)
            await tm.admin.resetGroup('events', 'g', 'beginning')
            await tm.publish('events', 11)
            assert.equal((await lagOf(tm)).messages, 11)
            const reader = tm.reader('events', { group: 'g', batchSize: 4 })
            await receive(reader)
            assert.equal((await lagOf(tm)).messages, 7)
            await reader.close()
          })
        })
      }
    })
  }

  for (const store of shared) {
    describe(store.name, () => {
      describe('the lag of a group whose backfill waits', needs(store, 'tracking'), () => {
        it('is what the backfill will deliver, before, while and after it runs', async () => {
          await using database = await store.fresh()
          await using opened = await openStore(database)
          const work = await Work.on(opened)
          await work.publish(20)
          await work.subscribe('late', 'beginning', { scope: 'retained' })
          assert.equal(await backlog(work, 'late'), 20)
          await work.publish(3)
          assert.equal(await backlog(work, 'late'), 23)
          await work.backfill('late', 5, 1)
          assert.equal(await backlog(work, 'late'), 23)
          const lease = await work.claim('late', 5)
          assert.equal(lease?.messages.length, 5)
          assert.equal(await backlog(work, 'late'), 18)
          await database.orphanBackfills()
          await work.backfill('late', 100)
          assert.equal(await backlog(work, 'late'), 18)
          if (lease) await work.ack(lease)
          assert.equal((await work.drain('late')).length, 18)
          const { backlog: left, oldestWaitingAt } = await described(work, 'late')
          assert.deepEqual([left, oldestWaitingAt], [0, null])
        })

        it('counts only what is pending with that scope', async () => {
          await using database = await store.fresh()
          await using opened = await openStore(database)
          const work = await Work.on(opened)
          await work.subscribe('first')
          const ids = await work.publish(10)
          const done = await work.claim('first', 6)
          if (done) await work.ack(done)
          await work.subscribe('late', 'beginning', { scope: 'pending' })
          const waiting = await described(work, 'late')
          assert.equal(waiting.backlog, 4)
          await work.backfill('late')
          assert.equal(await backlog(work, 'late'), 4)
          assert.deepEqual(await work.drain('late'), ids.slice(6))
          assert.equal(await backlog(work, 'late'), 0)
        })

        it('leaves out what a cancelled backfill did not reach', async () => {
          await using database = await store.fresh()
          await using opened = await openStore(database)
          const work = await Work.on(opened)
          await work.publish(20)
          await work.subscribe('late', 'beginning', { scope: 'retained' })
          await work.backfill('late', 5, 1)
          await opened.backfills.setStatus(work.topic, work.group('late'), 'CANCELLED')
          assert.equal(await backlog(work, 'late'), 5)
          await opened.backfills.setStatus(work.topic, work.group('late'), 'RUNNING')
          assert.equal(await backlog(work, 'late'), 20)
        })

        it('is bounded by what was marked, beyond what is counted one by one', async () => {
          await using database = await store.fresh()
          await using opened = await openStore(database)
          const work = await Work.on(opened)
          await work.subscribe('first')
          await work.publish(3_000)
          const done = await work.claim('first', 2_990)
          if (done) await work.ack(done)
          await work.subscribe('late', 'beginning', { scope: 'pending' })
          await work.backfill('late', 10_000)
          assert.equal(await backlog(work, 'late'), 10)
        })
      })
    })
  }
}

async function consumeAll(tm: Tidemark, tracking: 'offset' | 'reference', count: number): Promise<void> {
  await tm.configureTopic('events', { semantics: 'pub-sub', tracking, retention: 'forever', maxRetention: 'none' })
  const group = tm.consumerGroup('events', 'g')
  const deliveries = collect(group)
  await group.start()
  await tm.publishBatch('events', range(1, count))
  await until(() => deliveries.length === count, { what: 'all to be delivered' })
  await group.stop()
}

async function lagOf(tm: Tidemark) {
  const [health] = await tm.admin.groups('events')
  const { backlog: described } = await groupOf(tm, 'events', 'g')
  return { messages: health?.lagMessages ?? -1, ms: health?.lagMs ?? -1, backlog: described }
}

async function described(work: Work, name: string) {
  const { groups } = await work.store.inspection.describe(work.topic)
  const group = groups.find(each => each.group === name)
  if (group === undefined) throw new Error(`There is no group '${name}'`)
  return group
}

const backlog = async (work: Work, name: string): Promise<number> => (await described(work, name)).backlog
