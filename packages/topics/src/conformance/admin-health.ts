import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { type ConformanceStores, has, needsTracking } from './conformance-store.ts'
import { consume, groupOf, range, receive } from './consuming.ts'
import { it } from './it.ts'
import { openStore } from './open-store.ts'

const HOUR_MS = 3_600_000

export function adminHealth({ stores, shared, secluded }: ConformanceStores): void {
  for (const store of stores) {
    describe(store.name, () => {
      it('is healthy with nothing in it, and while all goes well', async () => {
        await using database = await store.fresh()
        const tm = await database.open()
        const empty = await tm.admin.health()
        assert.equal(empty.healthy, true)
        await tm.configureTopic('events', { semantics: 'pub-sub' })
        const reader = tm.reader('events', { group: 'g' })
        await reader.ready()
        await tm.publishBatch('events', range(1, 5))
        await (await receive(reader)).ack()
        const health = await tm.admin.health()
        assert.deepEqual(
          [health.nearTimeout, health.dead, health.stuck, health.inconsistencies, health.zombies, health.unsubscribed],
          [[], [], [], [], [], []],
        )
        assert.equal(health.cleanUp.behind, false)
        assert.ok(Math.abs(health.checkedAt.getTime() - Date.now()) < 60_000)
      })
    })
  }

  // A watermark stays behind where another transaction was open when the messages were read.
  for (const store of secluded) {
    describe(`${store.name}, secluded`, () => {
      for (const tracking of ['offset', 'reference'] as const) {
        it(
          `counts removable messages before the job has ever run, by ${tracking}`,
          needsTracking(store, tracking),
          async () => {
            await using database = await store.fresh()
            const tm = await database.open({ maintenance: false })
            const config = { semantics: 'pub-sub', retention: '1h', maxRetention: '30d', partitionRows: 10 } as const
            await tm.configureTopic('events', { ...config, tracking })
            const fast = tm.reader('events', { group: 'fast' })
            const slow = tm.reader('events', { group: 'slow' })
            await Promise.all([fast.ready(), slow.ready()])
            const ids: number[] = []
            for (const n of range(1, 25)) ids.push((await tm.publish('events', n)).id)
            // Counted by ids; a publish that had to wait for its partition skips one.
            const byIds = (ids.at(-1) ?? 0) - (ids[0] ?? 0) + 1
            const all = has(store, 'dense ids') ? byIds : 25
            const removable = async () => (await tm.admin.health({ removable: 0 })).cleanUp.removable
            await consume(fast, 25)
            await consume(slow, 25)
            assert.deepEqual(await removable(), [], 'too young')
            await database.ageMessages('events', 2 * HOUR_MS)
            assert.deepEqual(await removable(), [{ topic: 'events', messages: all }])
            await tm.admin.resetGroup('events', 'slow', 'beginning')
            assert.deepEqual(await removable(), [], 'needed again')
            await consume(slow, 24)
            // On PostgreSQL whole partitions are removed.
            const [some] = await removable()
            assert.ok(some && some.messages >= 19 && some.messages < all, JSON.stringify(some))
            await consume(slow, 1)
            assert.deepEqual(await removable(), [{ topic: 'events', messages: all }])
          },
        )
      }
    })
  }

  for (const store of shared) {
    describe(`${store.name}, shared`, () => {
      it('names the groups that are near their timeout, and no others', async () => {
        await using database = await store.fresh()
        const tm = await database.open()
        await tm.configureTopic('events', { semantics: 'pub-sub' })
        for (const group of ['silent', 'paused']) await tm.reader('events', { group }).ready()
        await tm.admin.pauseGroup('events', 'paused')
        await tm.publish('work', 1)
        await receive(tm.reader('work'))
        await database.ageGroups(0.7 * 300_000)
        await tm.reader('events', { group: 'fresh' }).ready()
        assert.deepEqual((await tm.admin.health()).nearTimeout, [])
        assert.equal((await tm.admin.health({ nearTimeout: 0.5 })).nearTimeout.length, 1)
        await database.ageGroups(0.15 * 300_000)
        const health = await tm.admin.health()
        assert.deepEqual(
          health.nearTimeout.map(({ group }) => group),
          ['silent'],
        )
        assert.equal(health.healthy, false)
        const groups = await tm.admin.groups('events')
        assert.deepEqual(
          groups.map(({ group, nearTimeout, healthy }) => [group, nearTimeout, healthy]),
          [
            ['fresh', false, true],
            ['paused', false, true],
            ['silent', true, false],
          ],
        )
      })

      it('names topics whose oldest message waits too long, whether claimed, to be retried, or not yet claimed', async () => {
        await using database = await store.fresh()
        const tm = await database.open()
        await tm.configureTopic('events', { semantics: 'pub-sub', backoff: { initial: '1h', max: '1h' } })
        const reader = tm.reader('events', { group: 'g', batchSize: 1 })
        await reader.ready()
        const expectStuck = async (expected: string[], what: string) => {
          const { stuck, healthy } = await tm.admin.health()
          assert.deepEqual(
            stuck.map(({ topic }) => topic),
            expected,
            what,
          )
          assert.equal(healthy, expected.length === 0)
        }
        await tm.publish('events', 1)
        await database.ageMessages('events', HOUR_MS / 2)
        await expectStuck([], 'half an hour old')
        await database.ageMessages('events', HOUR_MS)
        await expectStuck(['events'], 'not yet claimed')
        const [late] = (await tm.admin.health({ stuckAfter: '1m' })).stuck
        assert.ok(late && late.ageMs > HOUR_MS && late.ageMs < 2 * HOUR_MS)
        assert.deepEqual((await tm.admin.health({ stuckAfter: '2h' })).stuck, [])
        const delivery = await receive(reader)
        await expectStuck(['events'], 'in flight')
        await delivery.nack(new Error('later'))
        assert.equal((await groupOf(tm, 'events', 'g')).retries, 1)
        await expectStuck(['events'], 'to be tried again')
        await tm.admin.resetGroup('events', 'g', 'beginning')
        await (await receive(reader)).ack()
        await expectStuck([], 'done')
      })

      it('reports that clean-up falls behind when its job has not run, or leaves too much', async () => {
        await using database = await store.fresh()
        const tm = await database.open()
        await tm.admin.jobs.messages.runOnce()
        await database.ageJobs(10 * 60_000)
        assert.equal((await tm.admin.health()).cleanUp.overdue, false)
        await database.ageJobs(6 * 60_000)
        assert.equal((await tm.admin.health()).cleanUp.overdue, false, 'nothing to clean up')
        await tm.configureTopic('events', { semantics: 'pub-sub' })
        const { cleanUp, healthy } = await tm.admin.health()
        assert.deepEqual([cleanUp.overdue, cleanUp.behind, healthy], [true, true, false])
        assert.equal((await tm.admin.health({ cleanUpEvery: '10m' })).cleanUp.behind, false)
        await tm.admin.jobs.messages.runOnce()
        assert.equal((await tm.admin.health()).cleanUp.overdue, false)
        // It runs, and fails each time.
        await database.ageJobs(16 * 60_000)
        await using direct = await openStore(database)
        const token = '00000000-0000-4000-8000-000000000000'
        assert.ok(await direct.jobs.lock('messages', { token, ttlMs: 60_000 }))
        assert.equal((await tm.admin.health()).cleanUp.overdue, false, 'it runs')
        await direct.jobs.unlock('messages', token, { error: 'Error: broken' })
        assert.equal((await tm.admin.health()).cleanUp.overdue, true)
      })

      it('reports it if the job never ran, however little there is to do', async () => {
        await using database = await store.fresh()
        const tm = await database.open({ maintenance: false })
        assert.equal((await tm.admin.health({ cleanUpEvery: '1ms' })).cleanUp.overdue, false)
        await tm.configureTopic('events', { semantics: 'pub-sub' })
        assert.equal((await tm.admin.health()).cleanUp.overdue, false)
        await database.ageTopics(HOUR_MS / 3)
        const { cleanUp, healthy } = await tm.admin.health()
        assert.deepEqual([cleanUp.overdue, cleanUp.behind, cleanUp.lastRunAt, healthy], [true, true, null, false])
        await tm.admin.jobs.messages.runOnce()
        assert.equal((await tm.admin.health()).cleanUp.overdue, false)
      })

      it('reports dead groups and topics without a subscription', async () => {
        await using database = await store.fresh()
        const tm = await database.open()
        await tm.configureTopic('events', { semantics: 'pub-sub' })
        await tm.reader('events', { group: 'g' }).ready()
        await tm.publish('events', 1)
        await database.setStatus('g', 'DEAD')
        const { dead, unsubscribed, healthy, stuck } = await tm.admin.health()
        assert.deepEqual(
          [dead.map(({ group }) => group), unsubscribed.map(({ topic }) => topic), stuck, healthy],
          [['g'], ['events'], [], false],
        )
      })

      it('reports violated invariants', async () => {
        await using database = await store.fresh()
        const tm = await database.open()
        await tm.configureTopic('events', { semantics: 'pub-sub' })
        await tm.configureTopic('others', { semantics: 'pub-sub' })
        await tm.reader('events', { group: 'g' }).ready()
        await tm.publish('events', 1)
        await database.moveCursors(100)
        const { inconsistencies, healthy } = await tm.admin.health()
        assert.deepEqual(inconsistencies, [{ topic: 'events', what: "group 'g' has a cursor beyond the last message" }])
        assert.equal(healthy, false)
      })
    })
  }
}
