import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import { dummyIndexer, type IndexerDefinition, IndexUnreachableError } from '@tidemark/pipeline'
import { Client } from 'pg'
import { until } from '../../../../testing/until.ts'
import { ENGINES, type FreshIndex, schemaOf } from '../engines.ts'
import { range } from '../storage/ticks.ts'
import { ackedAre, extendedOften, failing, leaseIsExtended, metric, World } from './world.ts'

/** As another program's transaction does. */
async function lockIndex({ address, runId }: FreshIndex): Promise<AsyncDisposable> {
  if (address.startsWith('sqlite:')) {
    const db = new DatabaseSync(join(address.slice('sqlite:'.length), `${schemaOf(runId)}.db`), { timeout: 5_000 })
    db.exec('begin immediate')
    return { [Symbol.asyncDispose]: async () => db.close() }
  }
  const client = new Client({ connectionString: address })
  await client.connect()
  await client.query(`begin; lock table "${schemaOf(runId)}".dummy_tick`)
  return { [Symbol.asyncDispose]: () => client.end() }
}

for (const engine of ENGINES) {
  describe(`a failure, on ${engine.name}`, () => {
    it('a failed flush leaves its batches unacked and nothing in the index, and the service running', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      let isBroken = true
      const watched = await world.started({ insertBatchSize: 20, definition: failing(() => isBroken) })
      await world.tidemark.configureTopic(world.batchTopic, { backoff: { initial: '1h', max: '1h' } })
      await world.produce(2, 10)
      await metric(watched, 'batchesFailed', 2)
      assert.deepEqual([watched.acked, await world.unacked(), watched.indexer.state], [[], 2, 'RUNNING'])
      await world.assertIndexed({ batches: 0, ticks: 0 })
      assert.match(watched.indexer.status().errors.at(-1)?.error.message ?? '', /poison/)
      isBroken = false
      await world.produce(2, 10, 20)
      await ackedAre(watched, 20, 30)
    })

    it('batches of a failed flush are redelivered one by one', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      let failures = 1
      const watched = await world.started({ insertBatchSize: 30, definition: failing(() => failures-- > 0) })
      await world.produce(3, 10)
      await until(() => watched.acked.length === 3, { what: 'three acks' })
      assert.deepEqual(
        watched.flushes.map(({ length }) => length),
        [10, 10, 10],
      )
      await world.assertIndexed({ batches: 3, ticks: 30 })
    })

    it('an index that is unavailable for a while costs no batch an attempt', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      let isAway = true
      const definition: IndexerDefinition = {
        ...dummyIndexer,
        async flush(ticks, tx, flush) {
          if (isAway) throw new IndexUnreachableError('a test')
          await dummyIndexer.flush(ticks, tx, flush)
        },
      }
      await world.produce(2, 10)
      const watched = await world.started({ insertBatchSize: 20, definition })
      await until(() => (watched.indexer.status().metrics.flushesFailed ?? 0) >= 2, { what: 'two tries' })
      assert.equal(watched.indexer.status().healthy, false)
      isAway = false
      await ackedAre(watched, 0, 10)
      assert.equal(watched.indexer.status().healthy, true)
      assert.equal(watched.indexer.status().metrics.batchesFailed, 0)
      assert.deepEqual(watched.flushes, [range(0, 20)])
    })

    it('waits for an index that is locked for longer than busyTimeout', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      const watched = await world.started({
        insertBatchSize: 20,
        indexOptions: { durability: 'process', busyTimeout: 50 },
      })
      await world.produce(1, 10)
      await metric(watched, 'bufferedTicks', 10)
      {
        await using _lock = await lockIndex(world.place)
        await world.produce(1, 10, 10)
        await until(() => (watched.indexer.status().metrics.flushesFailed ?? 0) >= 1, { what: 'a try' })
        assert.equal(watched.indexer.status().errors.at(-1)?.error.name, 'IndexLockedError')
      }
      await ackedAre(watched, 0, 10)
      assert.equal(watched.indexer.status().metrics.batchesFailed, 0)
      await world.assertIndexed({ batches: 2, ticks: 20 })
    })

    it('stopped while the index is unavailable, it stops, and acks nothing', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      await world.produce(2, 10)
      const definition: IndexerDefinition = {
        ...dummyIndexer,
        async flush() {
          throw new IndexUnreachableError('a test')
        },
      }
      const watched = await world.started({ insertBatchSize: 15, definition })
      await until(() => (watched.indexer.status().metrics.flushesFailed ?? 0) >= 1, { what: 'a try' })
      await watched.indexer.stop()
      assert.deepEqual([watched.indexer.state, watched.acked, await world.unacked()], ['STOPPED', [], 2])
      const next = await world.started({ insertBatchSize: 10 })
      await until(() => next.acked.length === 2, { what: 'the next to index both' })
      await world.assertIndexed({ batches: 2, ticks: 20 })
    })

    it('a flush that takes long keeps its batches: their leases are extended', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      await world.produce(1, 10)
      const definition: IndexerDefinition = {
        ...dummyIndexer,
        async flush(ticks, tx, flush) {
          await leaseIsExtended(world)
          await dummyIndexer.flush(ticks, tx, flush)
        },
      }
      const slow = await world.started({ insertBatchSize: 10, definition, source: extendedOften(world) })
      await ackedAre(slow, 0)
      assert.equal(slow.indexer.status().metrics.staleAcks, 0)
    })
  })
}
