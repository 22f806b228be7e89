import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { migratedDatabase, temporaryFolder } from '../../../../testing/databases.ts'
import { BATCH_TOPIC, batchOf, topicOfRun } from '../../src/index.ts'
import { RUN_ID } from '../arbitraries.ts'
import { range, ticksOf } from '../storage/ticks.ts'
import { metric, Workbench } from './workbench.ts'

describe('with topics on PostgreSQL', () => {
  it('batches are announced once, missing announcements are found, and dead letters are kept', async () => {
    await using database = await migratedDatabase()
    await using bench = await Workbench.at(temporaryFolder(), {}, database.url)
    await bench.storage.writeBatch(batchOf(ticksOf(range(0, 10))))
    const service = bench.persistence({ maxBatchSize: 10 })
    const reconciler = bench.reconciler({ interval: '10ms' })
    await service.start()
    await reconciler.start()
    await bench.put(ticksOf(range(5, 45)))
    await metric(service, 'ticksWritten', 35)
    await metric(reconciler, 'looks', (reconciler.status().metrics.looks ?? 0) + 2)
    await service.stop()
    const starts = (await bench.announced()).map(({ tickStart }) => tickStart)
    assert.deepEqual(
      starts.toSorted((a, b) => a - b),
      (await bench.ranges()).map(([start]) => start),
    )
    assert.deepEqual(await bench.ticks(), range(0, 50))
    assert.equal(service.status().metrics.duplicateTicks, 5)
    assert.equal((await bench.topics.configureTopic(topicOfRun(BATCH_TOPIC, RUN_ID))).dedupeWindowMs, null)
    await reconciler.stop()
    assert.deepEqual(reconciler.status().errors, [])
  })
})
