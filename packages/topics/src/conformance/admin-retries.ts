import assert from 'node:assert/strict'
import { describe } from 'node:test'
import type { ConformanceStores } from './conformance-store.ts'
import { receive } from './consuming.ts'
import { it } from './it.ts'

const PARTITION_ROWS = 10

export function adminRetries({ stores, shared }: ConformanceStores): void {
  for (const store of stores) {
    describe(store.name, () => {
      describe('the retries that wait', () => {
        it('are listed with their due times, errors and history', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('events', { semantics: 'pub-sub' })
          const reader = await tm.reader('events', { group: 'g' }).ready()
          await tm.publish('events', 1, { key: 'k', messageId: 'one' })
          const ref = await tm.publish('events', 2)
          await (await receive(reader)).nack(new RangeError('first'), { delay: 0 })
          await (await receive(reader)).nack(new TypeError('again'), { delay: '1h' })
          const before = Date.now()
          await (await receive(reader)).nack('later', { delay: '30m' })
          const [one, two, ...others] = await tm.admin.retries('events', { group: 'g' })
          assert.deepEqual(others, [])
          assert.ok(one && two)
          assert.deepEqual(
            [one.messageId, one.key, one.type, one.attempts, one.suspect],
            ['one', 'k', 'json', 2, false],
          )
          assert.deepEqual(one.error, { name: 'TypeError', message: 'again' })
          assert.deepEqual(
            one.history.map(({ attempt, name }) => [attempt, name]),
            [
              [1, 'RangeError'],
              [2, 'TypeError'],
            ],
          )
          assert.ok(one.createdAt instanceof Date && one.dueAt.getTime() > before + 3_500_000)
          assert.deepEqual(
            [two.id, two.messageId, two.attempts, two.error?.message],
            [ref.id, ref.messageId, 1, 'later'],
          )
          assert.ok(Math.abs(two.dueAt.getTime() - before - 1_800_000) < 60_000)
          assert.equal((await tm.admin.groups('events'))[0]?.retries, 2)
        })

        it('are listed in pages, without those in flight', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const refs = await tm.publishBatch('work', [1, 2, 3, 4, 5])
          const reader = tm.reader('work', { batchSize: 5 })
          for (let n = 0; n < 5; n++) await (await receive(reader)).nack('no', { delay: n === 2 ? 0 : '1h' })
          const again = await receive(reader)
          assert.equal(again.id, refs[2]?.id)
          const first = await tm.admin.retries('work', { limit: 3 })
          const rest = await tm.admin.retries('work', { limit: 3, after: first.at(-1)?.id ?? 0 })
          assert.deepEqual(
            [first, rest].map(page => page.map(({ id }) => id)),
            [[refs[0]?.id, refs[1]?.id, refs[3]?.id], [refs[4]?.id]],
          )
          await reader.close()
        })

        it('have no error if nothing has failed', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.publishBatch('work', [1, 2])
          const reader = tm.reader('work', { batchSize: 2 })
          await receive(reader)
          await tm.admin.pauseGroup('work', '')
          await reader.close()
          const [given, back] = await tm.admin.retries('work')
          assert.deepEqual([given?.error?.name, given?.attempts], ['StoppedError', 1])
          assert.deepEqual([back?.error, back?.history, back?.attempts], [null, [], 0])
        })

        it('need a group that exists, and options that do', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('events', { semantics: 'pub-sub' })
          await assert.rejects(tm.admin.retries('nowhere'), { code: 'TIDEMARK_TOPIC_NOT_FOUND' })
          await assert.rejects(tm.admin.retries('events'), { code: 'TIDEMARK_CONFIG', message: /retries\.group/ })
          await assert.rejects(tm.admin.retries('events', { group: 'g' }), { code: 'TIDEMARK_GROUP_NOT_FOUND' })
          await assert.rejects(tm.admin.retries('events', { group: 'g', limit: 0 }), { code: 'TIDEMARK_CONFIG' })
        })
      })
    })
  }

  for (const store of shared) {
    describe(store.name, () => {
      it('lists messages of an expired lease as suspects', async () => {
        await using database = await store.fresh()
        const tm = await database.open()
        await tm.publishBatch('work', [1, 2])
        await receive(tm.reader('work', { batchSize: 2 }))
        await database.expireLeases()
        const other = tm.reader('work')
        await receive(other)
        const [waiting] = await tm.admin.retries('work')
        assert.equal(waiting?.error?.name, 'LeaseExpiredError')
        assert.equal(waiting.suspect, true)
      })

      it('lists a retry whose message was cleaned up, without its metadata', async () => {
        await using database = await store.fresh()
        const tm = await database.open()
        await tm.configureTopic('work', { partitionRows: PARTITION_ROWS })
        await tm.publish('work', 1, { key: 'k' })
        await (await receive(tm.reader('work'))).nack('no', { delay: '1h' })
        await database.removeMessagesBelow(PARTITION_ROWS)
        const [waiting] = await tm.admin.retries('work')
        assert.deepEqual([waiting?.key, waiting?.createdAt, waiting?.error?.message], [null, null, 'no'])
      })
    })
  }
}
