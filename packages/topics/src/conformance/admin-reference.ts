import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { BackfillError, MessageNotFoundError, TopicConflictError } from '../index.ts'
import { type ConformanceStores, needs } from './conformance-store.ts'
import { consume, range, receive } from './consuming.ts'
import { it } from './it.ts'

const REFERENCE = { semantics: 'pub-sub', tracking: 'reference', maxAttempts: 1 } as const

export function adminReference({ stores }: ConformanceStores): void {
  for (const store of stores) {
    describe(store.name, needs(store, 'tracking'), () => {
      describe('admin.completion', () => {
        it('shows which groups must process a message, and which have', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('events', REFERENCE)
          const [a, b] = ['a', 'b'].map(group => tm.reader('events', { group, batchSize: 1 }))
          if (!a || !b) throw new Error('unreachable')
          for (const reader of [a, b]) await reader.ready()
          const [first] = await tm.publishBatch('events', [1, 2])
          await tm.publish('events', 3, { messageId: 'mine' })
          await consume(a, 3)
          await consume(b, 1)
          const messageId = first?.messageId ?? ''
          assert.deepEqual(await tm.admin.completion('events', { messageId }), [
            { id: first?.id, messageId, required: ['a', 'b'], completed: ['a', 'b'] },
          ])
          const [mine] = await tm.admin.completion('events', { messageId: 'mine' })
          assert.deepEqual([mine?.messageId, mine?.completed], ['mine', ['a']])
          assert.equal((await tm.admin.completion('events', { unfinished: true })).length, 2)
          assert.equal((await tm.admin.completion('events', { after: first?.id ?? 0, limit: 1 })).length, 1)
          await assert.rejects(tm.admin.completion('events', { messageId: 'unknown' }), MessageNotFoundError)
        })

        it('is unavailable when tracked by offset: the error says what is available', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('events', { semantics: 'pub-sub' })
          await assert.rejects(tm.admin.completion('events'), TopicConflictError)
          await assert.rejects(tm.admin.completeOrphans('events', { olderThan: '1h' }), TopicConflictError)
        })
      })

      describe('admin.setTracking', () => {
        it('switches there and back while a group reads', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('events', { semantics: 'pub-sub' })
          const reader = tm.reader('events', { group: 'g', batchSize: 1 })
          await reader.ready()
          await tm.publishBatch('events', [1, 2])
          await consume(reader, 1)
          await tm.admin.setTracking('events', 'reference')
          await tm.publish('events', 3)
          const open = await tm.admin.completion('events', { unfinished: true })
          assert.equal(open.length, 2)
          assert.deepEqual(await consume(reader, 2), [2, 3])
          assert.deepEqual(await tm.admin.completion('events', { unfinished: true }), [])
          await tm.admin.setTracking('events', 'offset')
          await tm.publish('events', 4)
          assert.deepEqual(await consume(reader, 1), [4])
          await assert.rejects(tm.admin.completion('events'), TopicConflictError)
        })
      })

      describe('a dead letter of a reference topic', () => {
        it('is completed, and is not once it is redriven', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('events', REFERENCE)
          const reader = tm.reader('events', { group: 'g' })
          await reader.ready()
          await tm.publish('events', 1)
          await (await receive(reader)).nack(new Error('no'))
          const completed = async () => (await tm.admin.completion('events'))[0]?.completed
          assert.deepEqual(await completed(), ['g'])
          assert.equal((await tm.admin.redrive('events', { all: true })).redriven, 1)
          assert.deepEqual(await completed(), [])
          assert.deepEqual(await consume(reader, 1), [1])
          assert.deepEqual(await completed(), ['g'])
        })
      })

      describe('a backfill by admin', () => {
        it('delivers to the group what was published before it joined', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('events', REFERENCE)
          await tm.publishBatch('events', range(1, 5))
          const reader = tm.reader('events', { group: 'g' })
          await reader.ready()
          assert.equal(await tm.admin.backfill('events', 'g'), undefined)
          assert.equal(await reader.poll(0), null)
          const begun = await tm.admin.startBackfill('events', 'g', { scope: 'retained' })
          assert.ok(['RUNNING', 'COMPLETED'].includes(begun.status))
          assert.deepEqual((await consume(reader, 5)).sort(), range(1, 5))
          assert.equal((await tm.admin.groups('events'))[0]?.backfill?.processed, 5)
        })

        it('is refused for a topic tracked by offset', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('events', { semantics: 'pub-sub' })
          await tm.reader('events', { group: 'g' }).ready()
          for (const verb of ['startBackfill', 'cancelBackfill', 'resumeBackfill'] as const) {
            await assert.rejects(tm.admin[verb]('events', 'g'), BackfillError)
          }
          assert.equal(await tm.admin.backfill('events', 'g'), undefined)
        })
      })

      describe('resetting a group of a reference topic', () => {
        it('redelivers what is retained, and delivers what comes after', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('events', REFERENCE)
          const reader = tm.reader('events', { group: 'g' })
          await reader.ready()
          await tm.publishBatch('events', range(1, 5))
          await consume(reader, 5)
          await tm.admin.resetGroup('events', 'g', 'beginning')
          await tm.publish('events', 6)
          assert.deepEqual((await consume(reader, 6)).sort(), range(1, 6))
          assert.equal(await reader.poll(0), null)
        })
      })
    })
  }
}
