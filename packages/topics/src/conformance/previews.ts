import assert from 'node:assert/strict'
import { describe } from 'node:test'
import type { Tidemark } from '../index.ts'
import { type ConformanceStores, has, needs } from './conformance-store.ts'
import { consume, range, receive } from './consuming.ts'
import { it } from './it.ts'
import { openStore } from './open-store.ts'

async function lagOf(tm: Tidemark, topic: string, name: string): Promise<number | undefined> {
  return (await tm.admin.groups(topic)).find(({ group }) => group === name)?.lagMessages
}

export function previews({ stores, shared }: ConformanceStores): void {
  for (const store of shared) {
    it(`${store.name}: the lanes are those of the topic that has the name now, whoever created it`, async () => {
      await using database = await store.fresh()
      const tm = await database.open({ maintenance: false })
      await tm.configureTopic('events', { semantics: 'pub-sub' })
      const published = await tm.publishBatch('events', range(1, 5))
      assert.equal((await tm.admin.lanes('events')).last, published.at(-1)?.id)
      const other = await database.open({ maintenance: false })
      await other.admin.deleteTopic('events')
      await assert.rejects(tm.admin.lanes('events'), { code: 'TIDEMARK_TOPIC_NOT_FOUND' })
      await other.configureTopic('events', { semantics: 'pub-sub' })
      await other.publishBatch('events', range(1, 3))
      assert.equal(
        (await tm.admin.lanes('events')).buckets.reduce((sum, { count }) => sum + count, 0),
        3,
      )
      await other.admin.deleteTopic('events')
      await other.configureTopic('events', { semantics: 'pub-sub' })
      assert.deepEqual((await tm.admin.lanes('events')).buckets, [])
    })
  }

  for (const store of stores) {
    describe(store.name, () => {
      describe('the lanes of a topic', () => {
        it('say which configuration the topic has now, so that nobody has to look for a newer one', async () => {
          await using database = await store.fresh()
          await using opened = await openStore(database)
          const known = await opened.topics.configure('events', {})
          const versionNow = async () => (await opened.inspection.lanes(known, { buckets: 0, most: 1 })).configVersion
          assert.equal(await versionNow(), known.configVersion)
          await opened.topics.configure('events', { leaseMs: 1_000 })
          assert.ok((await versionNow()) > known.configVersion)
        })

        it('show the log in parts, and what each group holds, retries and has dead-lettered', async () => {
          await using database = await store.fresh()
          const tm = await database.open({ maintenance: false })
          await tm.configureTopic('events', {
            semantics: 'pub-sub',
            maxAttempts: 2,
            backoff: { initial: '1h', max: '1h' },
          })
          const reader = await tm.reader('events', { group: 'email', batchSize: 1, consumer: 'one' }).ready()
          await tm.reader('events', { group: 'idle' }).ready()
          const published = await tm.publishBatch('events', range(1, 100))
          const id = (n: number): number => published[n - 1]?.id ?? 0
          await consume(reader, 10)
          await (await receive(reader)).nack('later')
          const held = await receive(reader)
          const { first, last, buckets, groups } = await tm.admin.lanes('events', { buckets: 10 })
          assert.deepEqual([first, last], [id(1), id(100)])
          assert.deepEqual(
            buckets.map(({ position, count }) => [position, count]),
            range(0, 9).map(n => [id(1 + n * 10), 10]),
          )
          assert.ok(buckets.every(({ at }) => at instanceof Date))
          const [email, idle] = groups
          assert.deepEqual([email?.group, email?.cursor, email?.lagMessages], ['email', id(12), 88])
          // On PostgreSQL it stays behind where another transaction of the server was open when the messages were read.
          assert.ok(email && email.watermark >= 0 && email.watermark <= id(10), `${email?.watermark}`)
          assert.deepEqual(
            email?.leases.map(({ from, to, attempt }) => [from, to, attempt]),
            [[id(12), id(12), 1]],
          )
          assert.ok(email?.leases[0]?.until && email.leases[0].until > new Date())
          assert.deepEqual(
            email?.retries.map(({ id, attempt }) => [id, attempt]),
            [[id(11), 2]],
          )
          assert.deepEqual([idle?.leases, idle?.retries, idle?.deadLetters, idle?.cursor], [[], [], [], 0])
          await held.ack()

          const part = await tm.admin.lanes('events', { from: id(50), to: id(59), buckets: 200 })
          assert.deepEqual(
            part.buckets.map(({ position }) => position),
            range(50, 59).map(id),
          )
          assert.deepEqual(part.groups[0]?.retries, [])
          assert.deepEqual((await tm.admin.lanes('events', { from: id(100) + 400, to: id(100) + 500 })).buckets, [])
          await tm.configureTopic('empty')
          const empty = await tm.admin.lanes('empty')
          assert.deepEqual([empty.first, empty.last, empty.buckets, empty.groups.length <= 1], [null, null, [], true])
          await assert.rejects(tm.admin.lanes('nowhere'), { code: 'TIDEMARK_TOPIC_NOT_FOUND' })
          await assert.rejects(tm.admin.lanes('events', { buckets: -1 }), { code: 'TIDEMARK_CONFIG' })
        })

        it('mark the messages that are dead letters', async () => {
          await using database = await store.fresh()
          const tm = await database.open({ maintenance: false })
          await tm.configureTopic('work', { maxAttempts: 1 })
          const published = await tm.publishBatch('work', range(1, 3))
          const reader = tm.reader('work', { batchSize: 1 })
          await consume(reader, 1)
          await (await receive(reader)).nack('no')
          const [group] = (await tm.admin.lanes('work')).groups
          assert.deepEqual([group?.group, group?.deadLetters, group?.deadLetterCount], ['', [published[1]?.id], 1])
        })
      })

      describe('the members of a group', () => {
        it('are processes with the messages they hold', async () => {
          await using database = await store.fresh()
          const tm = await database.open({ maintenance: false })
          await tm.configureTopic('events', { semantics: 'pub-sub' })
          const reader = await tm.reader('events', { group: 'email', batchSize: 4 }).ready()
          await tm.publishBatch('events', range(1, 4))
          const held = await receive(reader)
          const members = await tm.admin.members('events', 'email')
          assert.equal(members.length, 1)
          assert.deepEqual([members[0]?.pid, members[0]?.inFlight], [process.pid, 4])
          assert.ok(members[0]?.host && members[0].until && members[0].since)
          await held.ack()
          await assert.rejects(tm.admin.members('events', 'nobody'), { code: 'TIDEMARK_GROUP_NOT_FOUND' })
        })
      })

      describe('a message', () => {
        const TRACKINGS = has(store, 'tracking') ? (['offset', 'reference'] as const) : (['offset'] as const)
        for (const tracking of TRACKINGS)
          it(`shows where it stands in each group (${tracking})`, async () => {
            await using database = await store.fresh()
            const tm = await database.open({ maintenance: false })
            const backoff = { initial: '1h', max: '1h' } as const
            await tm.configureTopic('events', { semantics: 'pub-sub', tracking, maxAttempts: 2, backoff })
            const reader = await tm.reader('events', { group: 'email', batchSize: 1 }).ready()
            await tm.reader('events', { group: 'idle' }).ready()
            const published = await tm.publishBatch('events', range(1, 6))
            await tm.reader('events', { group: 'late', from: 'now' }).ready()
            await consume(reader, 1)
            await (await receive(reader)).nack('later')
            const held = await receive(reader)
            const stateOf = async (n: number, name: string) =>
              (await tm.admin.message('events', published[n - 1]?.id ?? 0))?.groups.find(({ group }) => group === name)
            assert.equal((await stateOf(1, 'email'))?.state, 'done')
            const retry = await stateOf(2, 'email')
            assert.deepEqual([retry?.state, retry?.attempt], ['retry', 2])
            assert.ok(retry?.until && retry.until > new Date())
            const flying = await stateOf(3, 'email')
            assert.deepEqual([flying?.state, flying?.attempt], ['in-flight', 1])
            assert.ok(flying?.consumer && flying.until)
            assert.equal((await stateOf(5, 'email'))?.state, 'waiting')
            assert.equal((await stateOf(1, 'idle'))?.state, 'waiting')
            assert.equal((await stateOf(1, 'late'))?.state, 'not-for-group')
            await held.ack()
            assert.equal((await stateOf(3, 'email'))?.state, 'done')
            assert.equal(await tm.admin.message('events', (published[5]?.id ?? 0) + 1), undefined)
            assert.equal(await tm.admin.message('events', 0), undefined)
            await assert.rejects(tm.admin.message('events', 1.5), { code: 'TIDEMARK_CONFIG' })
          })

        it('that was given up names its dead letter', async () => {
          await using database = await store.fresh()
          const tm = await database.open({ maintenance: false })
          await tm.configureTopic('work', { maxAttempts: 1 })
          const { id } = await tm.publish('work', { n: 1 }, { key: 'k' })
          await (await receive(tm.reader('work'))).nack('no')
          const [letter] = await tm.admin.deadLetters('work')
          const found = await tm.admin.message('work', id)
          assert.deepEqual([found?.message.key, found?.message.payload], ['k', '{"n":1}'])
          assert.deepEqual([found?.groups[0]?.state, found?.groups[0]?.deadLetter], ['dead-letter', letter?.id])
        })
      })

      describe('a search', () => {
        it('tells what it examined, and ends when it is aborted', async () => {
          await using database = await store.fresh()
          const tm = await database.open({ maintenance: false })
          const published = await tm.publishBatch('work', range(1, 30))
          const id = (n: number): number => published[n - 1]?.id ?? 0
          const nothing = await tm.admin.browse('work', { key: 'nobody' })
          assert.deepEqual(nothing, { messages: [], next: null, examined: { first: id(1), last: id(30) } })
          const newest = await tm.admin.browse('work', { order: 'newest-first', limit: 5 })
          assert.deepEqual(newest.examined, { first: id(26), last: id(30) })
          await tm.configureTopic('empty')
          assert.equal((await tm.admin.browse('empty')).examined, null)
          const signal = AbortSignal.abort()
          await assert.rejects(tm.admin.browse('work', { key: 'x', signal }), { name: 'AbortError' })
        })
      })

      describe('the preview of a reset', () => {
        const TRACKINGS = has(store, 'tracking') ? (['offset', 'reference'] as const) : (['offset'] as const)
        for (const tracking of TRACKINGS)
          it(`says what will be delivered, and it is (${tracking})`, needs(store, 'dense ids'), async () => {
            await using database = await store.fresh()
            const tm = await database.open({ maintenance: false })
            await tm.configureTopic('events', { semantics: 'pub-sub', tracking })
            const reader = await tm.reader('events', { group: 'email', batchSize: 1 }).ready()
            await tm.publishMessages(
              'events',
              range(1, 20).map(payload => ({ payload, key: 'a' })),
            )
            const { messages } = await tm.admin.browse('events', { limit: 20 })
            await consume(reader, 15)
            await receive(reader)
            const at = (id: number): string => messages[id - 1]?.messageId ?? ''

            const back = await tm.admin.previewReset('events', 'email', { messageId: at(6) })
            assert.deepEqual([back.from, back.to, back.direction, back.messages], [16, 5, 'back', 11])
            assert.deepEqual([back.atMost, back.waiting, back.inFlight, back.retries], [false, 15, 1, 0])
            assert.deepEqual([back.first?.id, back.first?.key, back.last?.id], [6, 'a', 16])
            assert.equal(back.first?.at.getTime(), messages[5]?.createdAt.getTime())
            assert.equal(await lagOf(tm, 'events', 'email'), 4)
            await tm.admin.resetGroup('events', 'email', { messageId: at(6) })
            assert.equal(await lagOf(tm, 'events', 'email'), back.waiting)

            const all = await tm.admin.previewReset('events', 'email', 'beginning')
            assert.deepEqual([all.to, all.waiting], [0, 20])
            await tm.admin.resetGroup('events', 'email', 'beginning')
            assert.equal(await lagOf(tm, 'events', 'email'), 20)
            const forward = await tm.admin.previewReset('events', 'email', 'now')
            assert.deepEqual([forward.to, forward.waiting], [20, 0])
            await tm.admin.resetGroup('events', 'email', 'now')
            assert.equal(await lagOf(tm, 'events', 'email'), 0)
          })

        it('by time counts what was published from then on', async () => {
          await using database = await store.fresh()
          const tm = await database.open({ maintenance: false })
          await tm.configureTopic('events', { semantics: 'pub-sub' })
          const reader = await tm.reader('events', { group: 'email' }).ready()
          await tm.publishBatch('events', range(1, 5))
          const { messages } = await tm.admin.browse('events', { limit: 20 })
          const then = new Date((messages.at(-1)?.createdAt.getTime() ?? 0) + 1)
          while (new Date() <= then) await tm.admin.topics()
          await tm.publishBatch('events', range(6, 8))
          await consume(reader, 8)
          const preview = await tm.admin.previewReset('events', 'email', { timestamp: then })
          assert.deepEqual([preview.messages, preview.waiting, preview.direction], [3, 3, 'back'])
          await tm.admin.resetGroup('events', 'email', { timestamp: then })
          assert.equal(await lagOf(tm, 'events', 'email'), 3)
        })

        it('refuses what the reset refuses, and changes nothing', async () => {
          await using database = await store.fresh()
          const tm = await database.open({ maintenance: false })
          await tm.configureTopic('events', { semantics: 'pub-sub' })
          await tm.reader('events', { group: 'email' }).ready()
          await assert.rejects(tm.admin.previewReset('events', 'email', { messageId: 'nowhere' }), {
            code: 'TIDEMARK_MESSAGE_NOT_FOUND',
          })
          await assert.rejects(tm.admin.previewReset('events', 'nobody', 'now'), { code: 'TIDEMARK_GROUP_NOT_FOUND' })
          await tm.admin.cancelGroup('events', 'email')
          await assert.rejects(tm.admin.previewReset('events', 'email', 'now'), { code: 'TIDEMARK_INVALID_TRANSITION' })
        })
      })

      describe('the preview of settings', () => {
        it('lists what would change, and how much could be removed', async () => {
          await using database = await store.fresh()
          const tm = await database.open({ maintenance: false })
          await tm.configureTopic('events', { semantics: 'pub-sub', retention: '1h', lease: 0 })
          const reader = await tm.reader('events', { group: 'email' }).ready()
          await tm.publishBatch('events', range(1, 10))
          await consume(reader, 10)
          const nothing = await tm.admin.previewTopic('events', { retention: '1h' })
          assert.deepEqual(nothing, { changes: [], mayRemove: 0 })
          const { changes, mayRemove } = await tm.admin.previewTopic('events', { retention: '1ms', maxAttempts: 9 })
          assert.deepEqual(changes, [
            { setting: 'retentionMs', from: 3_600_000, to: 1 },
            { setting: 'maxAttempts', from: 5, to: 9 },
          ])
          assert.equal(mayRemove, 10)
          const [topic] = await tm.admin.topics()
          assert.equal(topic?.config.maxAttempts, 5)
          await assert.rejects(tm.admin.previewTopic('events', { semantics: 'queue' }), {
            code: 'TIDEMARK_TOPIC_CONFLICT',
          })
        })
      })
    })
  }
}
