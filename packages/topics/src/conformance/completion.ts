import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { type ConformanceStores, needs } from './conformance-store.ts'
import { it } from './it.ts'
import { openStore } from './open-store.ts'
import { cleared, die, three, unfinished, Work } from './reference.ts'

export function completion({ secluded }: ConformanceStores): void {
  for (const engine of secluded) {
    describe(`a message on ${engine.name}`, needs(engine, 'tracking'), () => {
      it('is no longer held by a group that dies after it was published', async () => {
        await using database = await engine.fresh()
        await using store = await openStore(database)
        const work = await three(await Work.on(store))
        await work.publish(3)
        await work.drain('email')
        await work.drain('analytics')
        assert.equal(await unfinished(work), 3)
        await die(database, work, 'inventory')
        await cleared(work)
        assert.equal(await unfinished(work), 0)
        assert.deepEqual([...(await work.completion()).values()], new Array(3).fill(done('analytics,email')))
      })

      it('is required of a group that joins with a backfill of pending messages, unless it is completed', async () => {
        await using database = await engine.fresh()
        await using store = await openStore(database)
        const work = await Work.on(store)
        await work.subscribe('email')
        await work.subscribe('analytics')
        await work.publish(2)
        await work.drain('email')
        await work.drain('analytics')
        const open = await work.publish(2)
        await work.subscribe('inventory', 'beginning', { scope: 'pending' })
        await work.backfill('inventory')
        const rows = [...(await work.completion()).values()]
        assert.deepEqual(rows.slice(0, 2), new Array(2).fill(done('analytics,email')))
        assert.deepEqual(rows.slice(2), new Array(2).fill({ required: 'analytics,email,inventory', completed: '' }))
        assert.deepEqual(await work.drain('inventory'), open)
      })

      it('published during dead detection does not require the dead group, whether its bits are cleared yet or not', async () => {
        await using database = await engine.fresh()
        await using store = await openStore(database)
        const work = await three(await Work.on(store))
        await work.publish(1)
        await die(database, work, 'inventory')
        await work.publish(1)
        assert.equal((await work.completion()).get(2)?.required, 'analytics,email')
        await cleared(work)
        const required = [...(await work.completion()).values()].map(row => row.required)
        assert.deepEqual(required, ['analytics,email', 'analytics,email'])
      })
    })
  }
}

const done = (groups: string) => ({ required: groups, completed: groups })
