import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { open, SubscriptionGoneError, type Tidemark, TopicConflictError, TopicNotFoundError } from '../index.ts'
import type { ConformanceStores } from './conformance-store.ts'
import { collect, consume, eventsOf, happened, range, receive } from './consuming.ts'
import { it } from './it.ts'
import { SILENT } from './test-database.ts'
import { until } from './until.ts'

export function unknownTopics({ stores, shared }: ConformanceStores): void {
  for (const store of stores) {
    describe(`a topic that does not exist, on ${store.name}`, () => {
      const ways: [string, (tm: Tidemark) => Promise<unknown>][] = [
        ['pull', tm => tm.pull('nowhere', 'g')],
        ['pull without a group', tm => tm.pull('nowhere')],
        ['a reader', tm => tm.reader('nowhere', { group: 'g' }).poll(0)],
        ['a reader of a typed handle', tm => tm.topic('nowhere').reader().ready()],
        [
          'a group',
          tm =>
            tm
              .consumerGroup('nowhere', 'g')
              .addConsumer('c', () => {})
              .start(),
        ],
        [
          'a group of a typed handle',
          tm =>
            tm
              .topic('nowhere')
              .group()
              .addConsumer('c', () => {})
              .start(),
        ],
      ]

      for (const [way, consumeBy] of ways) {
        it(`is not created by ${way}, which reports it`, async () => {
          await using database = await store.fresh()
          await using tm = await open(database.url, { logger: SILENT })
          await assert.rejects(
            consumeBy(tm),
            (error: Error) => error instanceof TopicNotFoundError && /'nowhere'.*configureTopic/.test(error.message),
          )
          assert.deepEqual(await tm.admin.topics(), [])
          // The same program can consume it later.
          await tm.configureTopic('nowhere', { semantics: 'pub-sub' })
          const reader = tm.reader('nowhere', { group: 'g' })
          await reader.ready()
          await tm.publish('nowhere', 1)
          assert.deepEqual(await consume(reader, 1), [1])
        })

        it(`is created by ${way} if requested`, async () => {
          await using database = await store.fresh()
          const tm = await database.open({ autoCreate: true })
          await consumeBy(tm)
          assert.deepEqual(
            (await tm.admin.topics()).map(({ topic, config }) => [topic, config.semantics]),
            [['nowhere', 'queue']],
          )
        })
      }

      it('is created by the first publish, unless that is disabled', async () => {
        await using database = await store.fresh()
        await using tm = await open(database.url, { logger: SILENT })
        await tm.publish('jobs', 1)
        assert.deepEqual(await consume(tm.reader('jobs'), 1), [1])
        if (!shared.includes(store)) return
        const strict = await database.open({ autoCreate: false })
        await assert.rejects(strict.publish('other', 1), TopicNotFoundError)
      })
    })
  }

  for (const store of shared) {
    describe(`a topic whose semantics change, on ${store.name}`, () => {
      it('leaves no unnamed group behind: its consumers stop with the reason, and nothing is pinned', async () => {
        await using database = await store.fresh()
        const tm = await database.open({ autoCreate: true })
        const early = tm.consumerGroup('events', 'email')
        collect(early)
        await early.start()
        const stopped = eventsOf(tm, 'group-stopped')
        const other = await database.open()
        await other.configureTopic('events', { semantics: 'pub-sub' })
        assert.deepEqual(await other.admin.groups('events'), [])
        await happened(stopped, 1, 'the early group to stop')
        assert.ok(stopped[0]?.reason instanceof SubscriptionGoneError)
        // It may be started again, under its name this time.
        await early.start()
        assert.deepEqual(
          (await other.admin.groups('events')).map(({ group }) => group),
          ['email'],
        )
      })

      it('is noticed by earlier pullers, at the latest with the second pull', async () => {
        await using database = await store.fresh()
        const tm = await database.open({ autoCreate: true })
        const other = await database.open()
        await tm.pull('events', 'email')
        await other.configureTopic('events', { semantics: 'pub-sub' })
        await other.reader('events', { group: 'audit' }).ready()
        await other.publish('events', 1)
        const first = await tm.pull('events', 'email', { from: 'beginning' }).catch((error: Error) => error)
        if (first instanceof Error) {
          assert.ok(first instanceof SubscriptionGoneError || first instanceof TopicConflictError, String(first))
          assert.equal((await tm.pull('events', 'email', { from: 'beginning' })).messages.length, 1)
        }
        assert.deepEqual(
          (await other.admin.groups('events')).map(({ group }) => group),
          ['audit', 'email'],
        )
      })

      it('has one group when it becomes a queue', async () => {
        await using database = await store.fresh()
        const tm = await database.open()
        await tm.configureTopic('jobs', { semantics: 'pub-sub' })
        for (const group of ['a', 'b']) await (await tm.reader('jobs', { group }).ready()).close()
        await tm.configureTopic('jobs', { semantics: 'queue' })
        assert.deepEqual(await tm.admin.groups('jobs'), [])
        await tm.publishBatch('jobs', range(1, 3))
        assert.deepEqual(await consume(tm.reader('jobs'), 3), range(1, 3))
        assert.deepEqual(
          (await tm.admin.groups('jobs')).map(({ group }) => group),
          [''],
        )
      })

      it('keeps them if it has messages, and its group with them', async () => {
        await using database = await store.fresh()
        const tm = await database.open()
        await tm.publish('jobs', 1)
        await tm.reader('jobs').ready()
        await assert.rejects(tm.configureTopic('jobs', { semantics: 'pub-sub' }), TopicConflictError)
        assert.equal((await tm.admin.groups('jobs')).length, 1)
      })
    })

    describe(`a group without a name, on ${store.name}`, () => {
      it('is found by any label in a queue, also for dead letters', async () => {
        await using database = await store.fresh()
        const tm = await database.open()
        await tm.configureTopic('jobs', { maxAttempts: 1 })
        await tm.publishBatch('jobs', range(1, 3))
        const reader = tm.reader('jobs', { group: 'workers' })
        for (let n = 0; n < 3; n++) await (await reader.poll('10s'))?.nack('no')
        assert.equal((await tm.admin.deadLetters('jobs', { group: 'workers' })).length, 3)
        assert.equal((await tm.admin.redrive('jobs', { group: 'workers', limit: 1 })).redriven, 1)
        assert.equal(await tm.admin.discard('jobs', { group: 'workers' }), 2)
      })

      it('is found by every verb for a group, without a name as it is listed and by any label', async () => {
        await using database = await store.fresh()
        const tm = await database.open()
        await tm.publishBatch('jobs', range(1, 3))
        const reader = tm.reader<number>('jobs', { consumer: 'c' })
        await (await receive(reader)).nack('no', { delay: '1h' })
        const held = await receive(reader)
        const [listed] = await tm.admin.groups('jobs')
        assert.equal(listed?.group, '')
        for (const group of ['', 'workers']) {
          const of = { group }
          await until(async () => (await tm.admin.retries('jobs', of)).length === 1, { what: 'the retry' })
          assert.equal((await tm.admin.retryPage('jobs', of)).retries.length, 1)
          const [member] = await tm.admin.members('jobs', group)
          assert.deepEqual([member?.consumer, member?.pid, member?.inFlight], ['c', process.pid, 1])
          const [consumer] = await tm.admin.consumers('jobs', of)
          assert.deepEqual([consumer?.group, consumer?.consumer, consumer?.failed], ['', 'c', 1])
          assert.equal((await tm.admin.claims('jobs', of)).claims.length, 1)
          assert.deepEqual(await tm.admin.deadLetters('jobs', of), [])
          assert.deepEqual((await tm.admin.deadLetterErrors({ topic: 'jobs', group })).errors, [])
          assert.equal((await tm.admin.previewDeadLetters('jobs', of)).matching, 0)
          assert.equal((await tm.admin.previewReset('jobs', group, 'now')).inFlight, 1)
          assert.equal((await tm.admin.acknowledgeLoss('jobs', group)).acknowledged, 0)
          await tm.admin.pauseGroup('jobs', group)
          await tm.admin.resumeGroup('jobs', group)
        }
        await held.ack()
      })
    })
  }
}
