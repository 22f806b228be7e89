import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { BackfillError, TooManyGroupsError } from '../index.ts'
import { type ConformanceStores, needs } from './conformance-store.ts'
import { range } from './consuming.ts'
import { it } from './it.ts'
import { openStore } from './open-store.ts'
import { remove, three, unfinished, Work } from './reference.ts'
import { until } from './until.ts'

export function switchingTracking({ secluded }: ConformanceStores): void {
  for (const engine of secluded) {
    describe(`switching the tracking of a topic on ${engine.name}`, needs(engine, 'tracking'), () => {
      it('goes both ways while groups run, losing nothing and delivering nothing twice', async () => {
        await using database = await engine.fresh()
        await using store = await openStore(database)
        const work = await three(await Work.on(store, { tracking: 'offset' }))
        const got = new Map<string, number[]>(['email', 'analytics', 'inventory'].map(name => [name, []]))
        let isOver = false
        let isPublished = false
        const consumers = [...got].map(async ([name, ids]) => {
          while (!isPublished) {
            const lease = await work.claim(name, 20)
            await turn()
            if (lease === null) continue
            ids.push(...lease.messages.map(({ id }) => id))
            await work.ack(lease)
          }
          ids.push(...(await work.drain(name)))
        })
        let published = 0
        const publisher = (async () => {
          while (!isOver) {
            published += (await work.publish(5)).length
            await turn()
          }
        })()
        for (const tracking of ['reference', 'offset', 'reference'] as const) {
          await work.switchTo(tracking)
          while (await store.tracking.fill(work.topic, 50));
          const soFar = published
          await until(() => published > soFar + 20, { what: 'messages after the switch' })
        }
        isOver = true
        await publisher
        // Only now: whoever drains the topic before the publisher's last commit misses it.
        isPublished = true
        await Promise.all(consumers)
        for (const ids of got.values()) {
          assert.equal(new Set(ids).size, ids.length)
          assert.equal(ids.length, published)
        }
        await until(async () => !(await store.tracking.fill(work.topic, 50)) && (await unfinished(work)) === 0, {
          what: 'the bitmaps to be filled',
        })
      })

      it('is refused while a backfill runs', async () => {
        await using database = await engine.fresh()
        await using store = await openStore(database)
        const work = await Work.on(store)
        await work.publish(3)
        await work.subscribe('late', 'beginning')
        await assert.rejects(work.switchTo('offset'), BackfillError)
      })
    })

    describe(engine.name, needs(engine, 'tracking'), () => {
      describe('switching a topic to reference tracking', () => {
        it('knows what each group has completed, holds and has to do', async () => {
          await using database = await engine.fresh()
          await using store = await openStore(database)
          const work = await Work.on(store, { tracking: 'offset' })
          await work.subscribe('slow')
          await work.publish(4)
          await work.subscribe('later')
          await work.publish(4)
          await work.drain('later', 1)
          const held = await work.claim('slow', 3)
          assert.ok(held)
          await store.leases.settle([
            { token: held.token, size: 3, maxAttempts: 5, acks: [1], nacks: [], releases: [0] },
          ])
          await work.switchTo('reference')
          const [next] = await work.publish(1)
          await fill(work, 3)
          const expected = new Map([
            [1, { required: 'slow', completed: '' }],
            [2, { required: 'slow', completed: 'slow' }],
            [3, { required: 'slow', completed: '' }],
            [4, { required: 'slow', completed: '' }],
            ...range(5, 8).map(id => [id, { required: 'later,slow', completed: 'later' }] as const),
            [next ?? 0, { required: 'later,slow', completed: '' }],
          ])
          assert.deepEqual(await work.completion(), expected)
          await work.ack(held)
          assert.deepEqual(await work.drain('slow', 2), [1, ...range(4, 9)])
          assert.deepEqual(await work.drain('later'), [9])
          const unfinished = { after: 0, limit: 10, unfinished: true }
          assert.deepEqual(await store.tracking.completion(work.topic, unfinished), [])
        })

        it('is refused with more than 64 groups, and nothing is changed', async () => {
          await using database = await engine.fresh()
          await using store = await openStore(database)
          const work = await Work.on(store, { tracking: 'offset' })
          for (const number of range(1, 65)) await work.subscribe(`g${number}`)
          await assert.rejects(work.switchTo('reference'), TooManyGroupsError)
          assert.equal((await store.topics.find('events'))?.config.tracking, 'offset')
          await work.publish(1)
          assert.deepEqual(await work.drain('g65'), [1])
        })
      })

      describe('switching a topic to offset tracking', () => {
        it('is refused while a backfill runs, and nothing is changed', async () => {
          await using database = await engine.fresh()
          await using store = await openStore(database)
          const work = await Work.on(store)
          const before = await work.publish(4)
          await work.subscribe('late', 'beginning')
          await work.backfill('late', 2, 1)
          await assert.rejects(work.switchTo('offset'), BackfillError)
          assert.equal((await store.topics.find('events'))?.config.tracking, 'reference')
          await database.orphanBackfills()
          await work.backfill('late')
          assert.deepEqual(await work.drain('late'), before)
        })

        it('forgets the bits of removed groups, which others may have when it is switched back', async () => {
          await using database = await engine.fresh()
          await using store = await openStore(database)
          const work = await Work.on(store)
          await work.subscribe('removed')
          await work.subscribe('kept')
          const ids = await work.publish(3)
          await store.subscriptions.setStatus(work.topic, work.group('removed'), 'CANCELLED')
          await remove(work, 'removed')
          await work.switchTo('offset')
          await work.switchTo('reference')
          await fill(work, 100)
          await work.drain('kept')
          await work.clearAll()
          const done = { required: 'kept', completed: 'kept' }
          assert.deepEqual(await work.completion(), new Map(ids.map(id => [id, done])))
        })

        it('delivers what a backfill had marked and not delivered', async () => {
          await using database = await engine.fresh()
          await using store = await openStore(database)
          const work = await Work.on(store)
          const before = await work.publish(6)
          await work.subscribe('late', 'beginning')
          await work.backfill('late')
          const held = await work.claim('late', 2)
          assert.ok(held)
          const after = await work.publish(2)
          await work.switchTo('offset')
          const later = await work.publish(1)
          assert.deepEqual(await work.drain('late'), [...before.slice(2), ...after, ...later])
          await work.ack(held)
          await work.switchTo('reference')
          await fill(work, 100)
          assert.deepEqual(await work.drain('late'), [])
          assert.deepEqual(await store.tracking.completion(work.topic, { after: 0, limit: 10, unfinished: true }), [])
        })
      })
    })
  }
}

async function fill(work: Work, limit: number): Promise<void> {
  while (await work.store.tracking.fill(work.topic, limit));
}
