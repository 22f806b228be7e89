import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { type ConformanceStores, needs } from './conformance-store.ts'
import { range } from './consuming.ts'
import { it } from './it.ts'
import { openStore } from './open-store.ts'
import { Work } from './reference.ts'

export function backfillSteps({ secluded }: ConformanceStores): void {
  for (const engine of secluded) {
    describe(`a backfill on ${engine.name}`, needs(engine, 'tracking'), () => {
      it('runs in batches with their own transactions, and no further back than its limit', async () => {
        await using database = await engine.fresh()
        await using store = await openStore(database)
        const work = await Work.on(store)
        await work.publish(1_000)
        await work.subscribe('late', 'beginning', { maxMessages: 250 })
        const { id } = work.group('late')
        const token = '00000000-0000-4000-8000-000000000001'
        await store.backfills.take(token, 60_000, work.group('late'))
        const checkpoints: number[] = []
        for (;;) {
          const record = await store.backfills.runBatch(id, { token, limit: 100, ttlMs: 60_000 })
          assert.ok(record !== 'lost')
          checkpoints.push(record.checkpointId)
          if (record.status === 'COMPLETED') break
        }
        assert.deepEqual(checkpoints, [850, 950, 1_000])
        assert.deepEqual(await work.drain('late', 500), range(751, 1_000))
      })

      it('continues from its checkpoint after a crash, without counting a message twice', async () => {
        await using database = await engine.fresh()
        await using store = await openStore(database)
        const work = await Work.on(store)
        await work.publish(100)
        await work.subscribe('late', 'beginning')
        for (const batches of [1, 2, 3]) {
          await work.backfill('late', 10, batches)
          await database.orphanBackfills()
        }
        const record = await work.backfill('late', 10)
        assert.ok(record !== 'lost')
        assert.equal(record.processed, 100)
        assert.deepEqual(await work.drain('late'), range(1, 100))
      })

      it('is cancelled and resumed without harm to what it had done', async () => {
        await using database = await engine.fresh()
        await using store = await openStore(database)
        const work = await Work.on(store)
        await work.publish(30)
        await work.subscribe('late', 'beginning')
        await work.backfill('late', 10, 1)
        await store.backfills.setStatus(work.topic, work.group('late'), 'CANCELLED')
        assert.equal((await store.backfills.find(work.group('late')))?.checkpointId, 10)
        assert.equal(await store.backfills.take('00000000-0000-4000-8000-000000000001', 1_000), null)
        await store.backfills.setStatus(work.topic, work.group('late'), 'RUNNING')
        await work.backfill('late')
        assert.deepEqual(await work.drain('late'), range(1, 30))
      })

      it('stores whether its process slows it down, until another takes it', async () => {
        await using database = await engine.fresh()
        await using store = await openStore(database)
        const work = await Work.on(store)
        await work.publish(30)
        await work.subscribe('late', 'beginning')
        const group = work.group('late')
        const token = '00000000-0000-4000-8000-000000000001'
        assert.equal((await store.backfills.take(token, 60_000, group))?.slowed, false)
        const slowed = async (): Promise<boolean | undefined> => (await store.backfills.find(group))?.slowed
        const batch = { token, limit: 5, ttlMs: 60_000 }
        await store.backfills.runBatch(group.id, { ...batch, slowed: true })
        assert.equal(await slowed(), true)
        await store.backfills.runBatch(group.id, batch)
        assert.equal(await slowed(), false)
        await store.backfills.runBatch(group.id, { ...batch, slowed: true })
        await database.orphanBackfills()
        assert.equal((await store.backfills.take(token, 60_000, group))?.slowed, false)
      })

      it('covers nothing that is published after it began', async () => {
        await using database = await engine.fresh()
        await using store = await openStore(database)
        const work = await Work.on(store)
        await work.publish(5)
        await work.subscribe('late', 'beginning')
        await work.publish(5)
        const record = await work.backfill('late')
        assert.ok(record !== 'lost')
        assert.deepEqual([record.upperId, record.processed], [5, 5])
        assert.deepEqual(
          (await work.drain('late')).sort((a, b) => a - b),
          range(1, 10),
        )
      })

      it('lets publishes and claims run between any two batches', async () => {
        await using database = await engine.fresh()
        await using store = await openStore(database)
        const work = await Work.on(store)
        await work.subscribe('email')
        await work.publish(500)
        await work.subscribe('late', 'beginning')
        const backfill = work.backfill('late', 20)
        let published = 0
        let consumed = 0
        let isOver = false
        backfill.then(() => {
          isOver = true
        })
        while (!isOver) {
          published += (await work.publish(1)).length
          await turn()
          const lease = await work.claim('email', 10)
          consumed += lease?.messages.length ?? 0
          if (lease) await work.ack(lease)
        }
        assert.ok(published > 0 && consumed > 0)
        const got = await work.drain('late')
        assert.deepEqual(
          got.sort((a, b) => a - b),
          range(1, 500 + published),
        )
      })
    })
  }
}
