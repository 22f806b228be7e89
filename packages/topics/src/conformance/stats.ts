import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { type ConformanceStores, has } from './conformance-store.ts'
import { consume, range, receive } from './consuming.ts'
import { it } from './it.ts'
import { openStore } from './open-store.ts'
import { until } from './until.ts'

export function stats({ stores, shared }: ConformanceStores): void {
  for (const store of stores) {
    describe(store.name, () => {
      describe('the stats', () => {
        it('have every group of every topic as groups() reports it, and the jobs', async () => {
          await using database = await store.fresh()
          const tm = await database.open({ maintenance: false })
          await tm.configureTopic('events', { semantics: 'pub-sub', maxAttempts: 1 })
          await tm.configureTopic('tracked', {
            semantics: 'pub-sub',
            tracking: has(store, 'tracking') ? 'reference' : 'offset',
          })
          await tm.configureTopic('empty')
          const readers = ['a', 'b'].map(group => tm.reader('events', { group }))
          await Promise.all(readers.map(reader => reader.ready()))
          const [a, b] = readers
          assert.ok(a && b)
          await tm.publishBatch('events', range(1, 5))
          await consume(a, 3)
          await (await receive(a)).nack('dead')
          await receive(b)
          await tm.publishBatch('tracked', range(1, 4))
          const late = await tm.reader('tracked', { group: 'late', from: 'beginning' }).ready()
          await tm.admin.jobs['dead-groups'].runOnce()
          const stats = await tm.admin.stats()
          assert.deepEqual(Object.keys(stats.topics), ['empty', 'events', 'tracked'])
          assert.deepEqual(stats.topics.empty, {
            config: (await tm.admin.describeTopic('empty')).config,
            ...{ messagesPublished: 0, firstId: null, lastId: 0, retained: 0 },
            ...{ removable: 0, bytes: stats.topics.empty?.bytes, oldestAt: null, groups: {} },
          })
          for (const topic of ['events', 'tracked']) {
            const groups = await tm.admin.groups(topic)
            const told = Object.values(stats.topics[topic]?.groups ?? {})
            assert.deepEqual(told.map(steady), groups.map(steady))
          }
          const { events, tracked } = stats.topics
          assert.deepEqual([events?.messagesPublished, tracked?.groups.late?.lagMessages], [5, 4])
          assert.deepEqual([events?.groups.a?.lagMessages, events?.groups.a?.deadLetters], [1, 1])
          assert.deepEqual([events?.groups.b?.lagMessages, events?.groups.b?.inFlight], [4, 1])
          const job = stats.jobs['dead-groups']
          assert.ok(job?.succeededAt && job.startedAt && job.tookMs !== null && job.tookMs >= 0)
          assert.deepEqual([job.runs, job.running], [1, false])
          await late.close()
        })

        it('report the position of each group in the log, and how much of it is retained', async () => {
          await using database = await store.fresh()
          const tm = await database.open({ maintenance: false })
          await tm.configureTopic('events', { semantics: 'pub-sub' })
          const [busy, done, behind] = ['busy', 'done', 'behind'].map(group => tm.reader('events', { group }))
          assert.ok(busy && done && behind)
          await Promise.all([busy.ready(), done.ready(), behind.ready()])
          const published = await tm.publishBatch('events', range(1, 10))
          const id = (n: number): number => published[n - 1]?.id ?? 0
          await consume(done, 10)
          await consume(busy, 3)
          await receive(busy)
          const { events } = (await tm.admin.stats({ maxAge: 0 })).topics
          assert.deepEqual([events?.firstId, events?.lastId, events?.retained], [id(1), id(10), 10])
          assert.ok(events && events.bytes >= 10 && events.oldestAt !== null)
          const [first] = (await tm.admin.browse('events', { limit: 1 })).messages
          assert.equal(events.oldestAt.getTime(), first?.createdAt.getTime())
          const groups = Object.entries(events.groups)
          assert.deepEqual(
            groups.map(([group, { cursor }]) => [group, cursor]),
            [
              ['behind', 0],
              ['busy', id(4)],
              ['done', id(10)],
            ],
          )
          // On PostgreSQL it stays behind where another transaction of the server was open when the messages were read.
          const settled = [id(1) - 1, id(3), id(10)]
          assert.ok(
            groups.every(([, { watermark }], index) => watermark <= (settled[index] ?? 0)),
            JSON.stringify(groups),
          )
        })

        it('read the logs no more often than requested, but at once for a new topic', async () => {
          await using database = await store.fresh()
          const tm = await database.open({ maintenance: false })
          await tm.publish('work', 1)
          const first = await tm.admin.stats({ maxAge: 0, storageMaxAge: '1h' })
          await tm.publishBatch('work', range(1, 100))
          const later = await tm.admin.stats({ maxAge: 0, storageMaxAge: '1h' })
          assert.equal(later.topics.work?.retained, 101)
          assert.equal(later.topics.work?.bytes, first.topics.work?.bytes)
          await tm.publish('more', 1)
          const more = await tm.admin.stats({ maxAge: 0, storageMaxAge: '1h' })
          assert.ok(more.topics.more?.oldestAt)
        })

        it('are read once for all callers within their age', async () => {
          await using database = await store.fresh()
          const tm = await database.open({ maintenance: false })
          await tm.configureTopic('work')
          const [one, other] = await Promise.all([tm.admin.stats(), tm.admin.stats({ maxAge: 0 })])
          assert.equal(one, other)
          await tm.publish('work', 1)
          assert.equal(await tm.admin.stats(), one)
          assert.equal(await tm.admin.stats({ maxAge: '1h' }), one)
          const fresh = await tm.admin.stats({ maxAge: 0 })
          assert.equal(fresh.topics.work?.messagesPublished, 1)
          assert.equal(await tm.admin.stats(), fresh)
          await assert.rejects(tm.admin.stats({ maxAge: -1 }), { code: 'TIDEMARK_CONFIG' })
          await tm.close()
          await assert.rejects(tm.admin.stats(), { code: 'TIDEMARK_CLOSED' })
        })

        it('keep the last success of a job that failed since', async () => {
          await using database = await store.fresh()
          const tm = await database.open({ maintenance: false })
          await tm.configureTopic('events', { semantics: 'pub-sub' })
          await tm.admin.jobs.messages.runOnce()
          const before = (await tm.admin.stats({ maxAge: 0 })).jobs.messages
          assert.ok(before?.succeededAt)
          const { succeededAt } = before
          await tm.admin.jobs.messages.runOnce()
          const after = (await tm.admin.stats({ maxAge: 0 })).jobs.messages
          assert.ok(after?.succeededAt && after.succeededAt >= succeededAt)
          assert.equal(after.runs, 2)
        })
      })
    })
  }

  for (const store of shared) {
    describe(store.name, () => {
      it('removes the metrics of what another process has deleted', async () => {
        await using database = await store.fresh()
        const [here, there] = [await database.open(), await database.open()]
        await here.configureTopic('events', { semantics: 'pub-sub' })
        for (const group of ['a', 'b']) {
          const reader = await here.reader('events', { group }).ready()
          await here.publish('events', 1)
          await consume(reader, 1)
          await reader.close()
        }
        await here.publish('gone', 1)
        await here.publish('kept', 1)
        await there.admin.removeGroup('events', 'a')
        await there.admin.deleteTopic('gone')
        assert.deepEqual(Object.keys(here.metrics().topics).sort(), ['events', 'gone', 'kept'])
        await here.admin.stats({ maxAge: 0 })
        assert.deepEqual(Object.keys(here.metrics().topics).sort(), ['events', 'kept'])
        assert.deepEqual(Object.keys(here.metrics().topics.events?.groups ?? {}), ['b'])
        assert.equal((await here.admin.stats()).topics.gone, undefined)
      })

      const FAILURES = { 'a job': { error: 'Error: broken' }, 'one topic in a job': { removed: 9, failed: 1 } }
      for (const [what, failure] of Object.entries(FAILURES))
        it(`reports the failure of ${what} beside its last success`, async () => {
          await using database = await store.fresh()
          const tm = await database.open({ maintenance: false })
          await tm.admin.jobs.messages.runOnce()
          const before = (await tm.admin.stats({ maxAge: 0 })).jobs.messages
          await using direct = await openStore(database)
          const token = '00000000-0000-4000-8000-000000000000'
          assert.ok(await direct.jobs.lock('messages', { token, ttlMs: 60_000 }))
          assert.equal((await tm.admin.stats({ maxAge: 0 })).jobs.messages?.running, true)
          await direct.jobs.unlock('messages', token, failure)
          await until(async () => (await tm.admin.stats({ maxAge: 0 })).jobs.messages?.runs === 2, {
            what: 'the failed run',
          })
          const after = (await tm.admin.stats({ maxAge: 0 })).jobs.messages
          assert.deepEqual([after?.succeededAt, after?.running], [before?.succeededAt, false])
          assert.ok(after?.finishedAt && before?.finishedAt && after.finishedAt >= before.finishedAt)
        })
    })
  }
}

/** Without what the clock has changed between the two reads. */
function steady(group: object): object {
  const { sinceHeartbeatMs: _, lagMs: __, ratePerSecond: ___, ...rest } = group as Record<string, unknown>
  return rest
}
