import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { BackfillError } from '../index.ts'
import { type ConformanceStores, needs } from './conformance-store.ts'
import { it } from './it.ts'
import { openStore } from './open-store.ts'
import { three, unfinished, Work } from './reference.ts'
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
        const consumers = [...got].map(async ([name, ids]) => {
          while (!isOver) {
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
  }
}
