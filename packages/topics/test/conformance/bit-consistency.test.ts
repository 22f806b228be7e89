/** Bitmaps that were damaged: no call can do that, so these tests change the tables, and `health()` finds it. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Tidemark } from 'tidemark'
import { consume, range } from '../../src/conformance/consuming.ts'
import { letDie } from '../../src/conformance/dying.ts'
import { SHARED_STORES, subscriptionOf, type TestDatabase } from './stores.ts'

const REFERENCE = { semantics: 'pub-sub', tracking: 'reference', partitionRows: 1_000 } as const

for (const store of SHARED_STORES) {
  describe(`invalid bitmaps, on ${store.name}`, () => {
    const test = (name: string, body: (database: TestDatabase, tm: Tidemark) => Promise<void>): void => {
      it(name, async () => {
        await using database = await store.fresh()
        const tm = await database.open({ maintenance: false })
        await tm.configureTopic('events', REFERENCE)
        for (const group of ['a', 'b']) await tm.reader('events', { group }).ready()
        await body(database, tm)
      })
    }

    for (const [where, at] of [
      ['the newest', 2_500],
      ['the oldest', 1],
      ['those in hand', 1_300],
    ] as const) {
      test(`a required bit that was cleared is found among ${where}`, async (database, tm) => {
        const refs = await tm.publishBatch('events', range(1, 2_500))
        assert.deepEqual(await whatIsWrong(tm), [])
        if (where === 'those in hand') {
          for (const group of ['a', 'b']) {
            const { receipt } = await tm.pull('events', group, { max: 1_000 })
            await tm.settle(receipt ?? '', { acks: 'all' })
            await tm.pull('events', group, { max: 500 })
          }
        }
        const id = refs[at - 1]?.id
        const group = await subscriptionOf(database, 'b')
        await change(database, `set required = required & ~(1 << ${group.bit}) where id = ${id}`)
        assert.deepEqual(await whatIsWrong(tm), [
          `message ${id} is not required of group 'b', which was live when it was published`,
        ])
      })
    }

    test('so are the bit of a processed message and that of a group that does not exist', async (database, tm) => {
      const refs = await tm.publishBatch('events', range(1, 3))
      await consume(tm.reader('events', { group: 'a' }), 3)
      const { bit } = await subscriptionOf(database, 'a')
      await change(database, `set required = required & ~(1 << ${bit}) where id = ${refs[1]?.id}`)
      await change(database, `set required = required | (1 << 40) where id = ${refs[2]?.id}`)
      assert.deepEqual(await whatIsWrong(tm), [
        `message ${refs[2]?.id} waits for a group that does not exist`,
        `message ${refs[1]?.id} was processed by a group of which it was not required`,
        `message ${refs[1]?.id} is not required of group 'a', which was live when it was published`,
      ])
    })

    test('a message without bitmaps is found, and so is a lease of nobody', async (database, tm) => {
      const refs = await tm.publishBatch('events', range(1, 3))
      await tm.pull('events', 'a', { consumer: 'c' })
      await database.execute({
        sqlite: `delete from tidemark_track_1 where id = ${refs[1]?.id}`,
        postgres: `delete from tidemark.track_1 where id = ${refs[1]?.id}`,
      })
      await database.execute({
        sqlite: 'update tidemark_lease set subscription_id = 99',
        postgres: 'update tidemark.lease set subscription_id = 99',
      })
      assert.deepEqual(await whatIsWrong(tm), [
        `message ${refs[1]?.id} has no record of which groups must process it`,
        "a lease of consumer 'c' belongs to no group",
      ])
    })

    test('nothing is found while groups join, die, come back, are reset, cancelled and switched', async (database, tm) => {
      await tm.publishBatch('events', range(1, 20))
      await consume(tm.reader('events', { group: 'a' }), 10)
      await tm.reader('events', { group: 'late', from: 'beginning', backfill: { maxMessages: 5 } }).ready()
      await tm.reader('events', { group: 'future', from: { timestamp: Date.now() + 60_000 } }).ready()
      await tm.publishBatch('events', range(21, 30))
      assert.deepEqual(await whatIsWrong(tm), [])
      await tm.admin.resetGroup('events', 'a', 'now')
      await tm.admin.resetGroup('events', 'b', { messageId: (await firstKept(tm)) ?? '' })
      await tm.admin.pauseGroup('events', 'b')
      await tm.publishBatch('events', range(31, 35))
      assert.deepEqual(await whatIsWrong(tm), [])
      await tm.admin.resumeGroup('events', 'b')
      await tm.close()
      const later = await database.open({ maintenance: false })
      await letDie(later, database)
      await later.publishBatch('events', range(36, 40))
      await later.admin.resurrectGroup('events', 'a', { backfill: { maxMessages: 2 } })
      await later.admin.resurrectGroup('events', 'b', { backfill: false })
      await later.publishBatch('events', range(41, 45))
      assert.deepEqual(await whatIsWrong(later), [])
      await later.admin.cancelGroup('events', 'b')
      await later.publishBatch('events', range(46, 50))
      assert.deepEqual(await whatIsWrong(later), [])
      await later.admin.setTracking('events', 'offset')
      await later.publishBatch('events', range(51, 55))
      await later.admin.setTracking('events', 'reference')
      await later.publishBatch('events', range(56, 60))
      assert.deepEqual(await whatIsWrong(later), [])
    })
  })
}

async function whatIsWrong(tm: Tidemark): Promise<string[]> {
  return (await tm.admin.health()).inconsistencies.map(({ what }) => what)
}

const firstKept = async (tm: Tidemark) => (await tm.admin.browse('events', { limit: 1 })).messages[0]?.messageId

async function change(database: TestDatabase, what: string): Promise<void> {
  await database.execute({
    sqlite: `update tidemark_track_1 ${what}`,
    postgres: `update tidemark.track_1 ${what.replaceAll('(1 <<', '(1::bigint <<')}`,
  })
}
