/** Which bit a group has, and when it is taken away: only the rows of the groups say that, so these tests read them. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Tidemark, TooManyGroupsError } from 'tidemark'
import { isLong } from '../../../../testing/long.ts'
import { consume, eventsOf, groupOf, range, receive } from '../../src/conformance/consuming.ts'
import { letDie } from '../../src/conformance/dying.ts'
import { SECLUDED_STORES, subscriptionOf, type TestDatabase } from './stores.ts'

/** More than there are places. */
const DEPLOYMENTS = isLong ? 200 : 66
/** Of thirty groups each. */
const ROUNDS = isLong ? 7 : 3
const REFERENCE = { semantics: 'pub-sub', tracking: 'reference' } as const

for (const store of SECLUDED_STORES) {
  describe(`the 64 bits of a reference topic on ${store.name}`, () => {
    it('suffice for deployments that rename and cancel their group', async () => {
      await using database = await store.fresh()
      const tm = await database.open({ maintenance: false })
      await tm.configureTopic('events', REFERENCE)
      await tm.publishBatch('events', range(1, 20))
      for (let deployment = 1; deployment <= DEPLOYMENTS; deployment++) {
        const group = `g${deployment}`
        const reader = tm.reader('events', { group, from: 'beginning' })
        assert.deepEqual(await consume(reader, 2), [1, 2], group)
        // One with a message in hand.
        if (deployment % 3 === 0) await receive(reader)
        await tm.admin.cancelGroup('events', group)
        await reader.close()
      }
      assert.deepEqual((await tm.admin.health()).inconsistencies, [])
    })

    it('suffice for groups that die', async () => {
      await using database = await store.fresh()
      const tm = await database.open({ maintenance: false })
      await tm.configureTopic('events', REFERENCE)
      await tm.publishBatch('events', range(1, 5))
      for (let round = 0; round < ROUNDS; round++) {
        for (const n of range(1, 30)) {
          const reader = tm.reader('events', { group: `g${round}-${n}`, from: n % 2 ? 'beginning' : 'now' })
          if (n % 2) assert.equal((await receive(reader)).payload, 1)
          else await reader.ready()
          await reader.close()
        }
        await letDie(tm, database)
      }
      assert.equal((await tm.admin.groups('events')).length, ROUNDS * 30)
      assert.deepEqual((await tm.admin.health()).inconsistencies, [])
    })

    it('refuse the 65th live group, and only that', async () => {
      await using database = await store.fresh()
      const tm = await database.open({ maintenance: false })
      await tm.configureTopic('events', REFERENCE)
      for (const n of range(1, 64)) await (await tm.reader('events', { group: `live${n}` }).ready()).close()
      await assert.rejects(tm.reader('events', { group: 'one-more' }).ready(), TooManyGroupsError)
      await tm.admin.cancelGroup('events', 'live7')
      await (await tm.reader('events', { group: 'one-more' }).ready()).close()
      await assert.rejects(tm.reader('events', { group: 'another' }).ready(), TooManyGroupsError)
    })

    it('are assigned again to a resurrected group, which gets what it missed, each message once', async () => {
      await using database = await store.fresh()
      const tm = await database.open({ maintenance: false })
      await tm.configureTopic('events', REFERENCE)
      await tm.publishBatch('events', range(1, 10))
      // Of what was there before it had three, one is in hand; of what came since it had all but one, which failed.
      const early = tm.reader<number>('events', { group: 'early', from: 'beginning' })
      assert.deepEqual(await consume(early, 3), [1, 2, 3])
      const held = await receive(early)
      assert.equal(held.payload, 4)
      await tm.publishBatch('events', range(11, 14))
      // The backfill comes first: seven more of it would be, so what is new is claimed by a second reader after the rest.
      await makeRoomFor(tm, database, 60)
      assert.equal(await hasBit(database, 'early'), false)
      await tm.publishBatch('events', range(15, 16))
      const back = tm.reader<number>('events', { group: 'early' })
      const got = await consume(back, 13)
      assert.deepEqual(got.sort(byNumber), range(4, 16))
      assert.equal(await back.poll(0), null)
      assert.equal(await hasBit(database, 'early'), true)
      const done = await tm.admin.completion('events')
      assert.deepEqual(done.filter(({ completed }) => completed.includes('early')).map(({ id }) => id).length, 13)
      assert.equal((await groupOf(tm, 'events', 'early')).lost, 0)
    })

    it('deliver nothing twice to a group that died in the middle of a backfill', async () => {
      await using database = await store.fresh()
      const tm = await database.open({ maintenance: false })
      await tm.configureTopic('events', { ...REFERENCE, lease: '1h' })
      const first = tm.reader<number>('events', { group: 'g', from: 'now' })
      await first.ready()
      await tm.publishBatch('events', range(1, 10))
      assert.deepEqual(await consume(first, 10), range(1, 10))
      // It is to have all of it once more, and has gone through four when it dies; two that are new are done as well.
      await tm.admin.startBackfill('events', 'g')
      assert.deepEqual(await consume(first, 4), range(1, 4))
      await first.close()
      await letDie(tm, database)
      await tm.admin.resurrectGroup('events', 'g')
      const second = tm.reader<number>('events', { group: 'g' })
      assert.deepEqual(await consume(second, 2), [5, 6])
      await second.close()
      await makeRoomFor(tm, database, 60)
      assert.equal(await hasBit(database, 'g'), false)
      await tm.publish('events', 11)
      const third = tm.reader<number>('events', { group: 'g' })
      assert.deepEqual((await consume(third, 5)).sort(byNumber), [7, 8, 9, 10, 11])
      assert.equal(await third.poll(0), null)
    })

    it('deliver nothing twice to a group that died before its backfill reached what it had done', async () => {
      await using database = await store.fresh()
      const tm = await database.open({ maintenance: false })
      await tm.configureTopic('events', REFERENCE)
      // Somebody who needs them all, so that they are pending.
      await (await tm.reader('events', { group: 'slow' }).ready()).close()
      await tm.publishBatch('events', range(1, 5))
      const first = tm.reader<number>('events', { group: 'g', from: 'now' })
      await first.ready()
      await tm.publishBatch('events', range(6, 10))
      assert.deepEqual(await consume(first, 5), range(6, 10))
      await tm.admin.startBackfill('events', 'g', { scope: 'pending' })
      assert.deepEqual(await consume(first, 2), [1, 2])
      await first.close()
      await makeRoomFor(tm, database, 60)
      assert.equal(await hasBit(database, 'g'), false)
      const back = tm.reader<number>('events', { group: 'g' })
      assert.deepEqual((await consume(back, 3)).sort(byNumber), [3, 4, 5])
      assert.equal(await back.poll(0), null)
    })

    it('hide nothing from a group that is reset while it is dead', async () => {
      await using database = await store.fresh()
      const tm = await database.open({ maintenance: false })
      await tm.configureTopic('events', REFERENCE)
      await (await tm.reader('events', { group: 'slow' }).ready()).close()
      await tm.publishBatch('events', range(1, 5))
      const first = tm.reader<number>('events', { group: 'g', from: 'now' })
      await first.ready()
      await tm.publishBatch('events', range(6, 10))
      assert.deepEqual(await consume(first, 5), range(6, 10))
      await tm.admin.startBackfill('events', 'g', { scope: 'pending' })
      assert.deepEqual(await consume(first, 2), [1, 2])
      await first.close()
      // With its bit goes the record of what it had done, except for a note for the rest of its backfill.
      await makeRoomFor(tm, database, 60)
      assert.equal(await hasBit(database, 'g'), false)
      await tm.admin.resetGroup('events', 'g', 'beginning')
      const back = tm.reader<number>('events', { group: 'g' })
      assert.deepEqual((await consume(back, 10)).sort(byNumber), range(1, 10))
      assert.equal(await back.poll(0), null)
    })

    it('are all taken: a dead group waits and reports it, and its neighbours stay alive', async () => {
      await using database = await store.fresh()
      const tm = await database.open({ maintenance: false })
      await tm.configureTopic('events', REFERENCE)
      const dead = tm.reader('events', { group: 'dead' })
      await dead.ready()
      await makeRoomFor(tm, database, 60)
      const live = await Promise.all(range(1, 64).map(n => tm.reader('events', { group: `live${n}` }).ready()))
      assert.equal(await hasBit(database, 'dead'), false)
      const errors = eventsOf(tm, 'error')
      assert.equal(await dead.poll(200), null)
      assert.ok(errors.some(({ group, error }) => group === 'dead' && error instanceof TooManyGroupsError))
      await assert.rejects(tm.admin.resurrectGroup('events', 'dead'), TooManyGroupsError)
      await tm.publish('events', 1)
      assert.equal((await live[0]?.poll('10s'))?.payload, 1)
      await tm.admin.cancelGroup('events', 'live9')
      assert.equal((await tm.admin.resurrectGroup('events', 'dead')).skipped, 0)
      assert.equal((await dead.poll('10s'))?.payload, 1)
    })

    it('are not needed by dead groups when a topic switches to reference tracking', async () => {
      await using database = await store.fresh()
      const tm = await database.open({ maintenance: false })
      await tm.configureTopic('events', { semantics: 'pub-sub' })
      for (const n of range(1, 70)) await (await tm.reader('events', { group: `dead${n}` }).ready()).close()
      await letDie(tm, database)
      const live = tm.reader('events', { group: 'live' })
      await live.ready()
      await tm.publishBatch('events', range(1, 3))
      await tm.admin.setTracking('events', 'reference')
      assert.deepEqual(await consume(live, 3), range(1, 3))
      assert.deepEqual(await consume(tm.reader('events', { group: 'dead70' }), 3), range(1, 3))
    })

    it('are ignored for a dead group whose topic leaves reference tracking: it still gets the rest', async () => {
      await using database = await store.fresh()
      const tm = await database.open({ maintenance: false })
      await tm.configureTopic('events', REFERENCE)
      await tm.publishBatch('events', range(1, 10))
      const reader = tm.reader<number>('events', { group: 'g', from: 'beginning' })
      assert.deepEqual(await consume(reader, 4), range(1, 4))
      await reader.close()
      await tm.publishBatch('events', range(11, 12))
      await makeRoomFor(tm, database, 60)
      await tm.admin.setTracking('events', 'offset')
      const back = tm.reader<number>('events', { group: 'g' })
      assert.deepEqual((await consume(back, 8)).sort(byNumber), range(5, 12))
      assert.equal(await back.poll(0), null)
    })
  })
}

const byNumber = (one: number, other: number): number => one - other

type Database = TestDatabase

/** So many groups come and die that the bits of the first to die are taken away. */
async function makeRoomFor(tm: Tidemark, database: Database, groups: number): Promise<void> {
  await letDie(tm, database)
  for (const n of range(1, groups)) await (await tm.reader('events', { group: `passing${n}` }).ready()).close()
  await letDie(tm, database)
  await tm.admin.jobs['dead-groups'].runOnce()
}

async function hasBit(database: Database, group: string): Promise<boolean> {
  return (await subscriptionOf(database, group)).bit !== null
}
