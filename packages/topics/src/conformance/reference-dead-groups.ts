import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { type ConformanceStores, needs } from './conformance-store.ts'
import { range } from './consuming.ts'
import { it } from './it.ts'
import { openStore } from './open-store.ts'
import { cleared, die, resurrect, three, unfinished, Work } from './reference.ts'
import { until } from './until.ts'

export function referenceDeadGroups({ secluded }: ConformanceStores): void {
  for (const engine of secluded) {
    describe(`the clean-up of a dead group’s bits on ${engine.name}`, needs(engine, 'tracking'), () => {
      it('is continued: every message is cleared, and none twice', async () => {
        await using database = await engine.fresh()
        await using store = await openStore(database)
        const work = await three(await Work.on(store))
        await work.publish(20)
        await die(database, work, 'inventory')
        const first = await until(async () => (await store.tracking.clearBits(7)).cleared, { what: 'the first page' })
        // The process is killed here. Another one runs the job.
        await using other = await openStore(database)
        const rest = await new Work(other, work.topic).clearAll(7)
        assert.equal(first + rest, 20)
        for (const { required } of (await work.completion()).values()) assert.equal(required, 'analytics,email')
        assert.deepEqual(await store.tracking.clearBits(7), { cleared: 0, more: false })
      })
    })

    describe(`a dead group with messages in flight on ${engine.name}`, needs(engine, 'tracking'), () => {
      it('counts what it had processed, and redelivers the rest when it comes back', async () => {
        await using database = await engine.fresh()
        await using store = await openStore(database)
        const work = await three(await Work.on(store))
        await work.publish(10)
        const flying = await work.claim('inventory', 10)
        assert.ok(flying)
        const { token, size } = flying
        const acks = range(0, 4)
        await store.leases.settle([{ token, size, maxAttempts: 5, acks, nacks: [], releases: [] }])
        await die(database, work, 'inventory')
        await database.expireLeases()
        await cleared(work)
        const own = [...(await work.completion())].filter(([, row]) => row.required.includes('inventory'))
        assert.deepEqual(
          own.map(([id]) => id),
          range(1, 5),
        )
        await work.publish(2)
        await resurrect(work, 'inventory')
        await work.backfill('inventory')
        assert.deepEqual(
          (await work.drain('inventory')).sort((a, b) => a - b),
          range(6, 12),
        )
        const late = await store.leases.settle([{ token, size, maxAttempts: 5, acks: 'all', nacks: [], releases: [] }])
        assert.deepEqual(late[0]?.stale, range(5, 9))
        assert.equal(await unfinishedOf(work, 'inventory'), 0)
      })
    })

    describe(`a dead group that comes back on ${engine.name}`, needs(engine, 'tracking'), () => {
      it('gives the group what it missed, once, however many of its processes come back at once', async () => {
        await using database = await engine.fresh()
        await using store = await openStore(database)
        const work = await three(await Work.on(store))
        await work.publish(10)
        await die(database, work, 'inventory')
        await cleared(work)
        const missed = await work.publish(10)
        await resurrect(work, 'inventory')
        const runs = await Promise.all(range(1, 10).map(() => work.backfill('inventory', 6)))
        assert.equal(runs.filter(run => run !== 'lost').length, 1)
        const after = await work.publish(1)
        const got = (await Promise.all(range(1, 5).map(() => work.drain('inventory', 3)))).flat()
        assert.deepEqual(
          got.sort((a, b) => a - b),
          [...range(1, 10), ...missed, ...after],
        )
      })

      it('frees what waited for the dead group, and resurrects it with a limited backfill', async () => {
        await using database = await engine.fresh()
        await using store = await openStore(database)
        const work = await three(await Work.on(store))
        await work.publish(10)
        for (const group of ['email', 'analytics', 'inventory']) await work.drain(group)
        const missed = await work.publish(300)
        await die(database, work, 'inventory')
        missed.push(...(await work.publish(600)))
        await cleared(work)
        for (const group of ['email', 'analytics']) assert.equal((await work.drain(group, 500)).length, 900)
        assert.equal(await unfinished(work), 0)
        await resurrect(work, 'inventory', 100)
        const record = await work.backfill('inventory')
        assert.ok(record !== 'lost')
        assert.equal(record.processed, 100)
        const [next] = await work.publish(1)
        const got = await work.drain('inventory', 500)
        assert.deepEqual(
          got.sort((a, b) => a - b),
          [...missed.slice(-100), next],
        )
        for (const group of ['email', 'analytics']) assert.deepEqual(await work.drain(group), [next])
        assert.equal(await unfinished(work), 0)
      })
    })
  }
}

async function unfinishedOf(work: Work, group: string): Promise<number> {
  const rows = await work.store.tracking.completion(work.topic, { after: 0, limit: 10_000, unfinished: true })
  return rows.filter(({ required, completed }) => required.includes(group) && !completed.includes(group)).length
}
