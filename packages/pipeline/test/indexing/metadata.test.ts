import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  BatchIndexer,
  dummyIndexer,
  MetadataIndexer,
  type MetadataIndexerOptions,
  makeRunId,
  storageSource,
} from '@tidemark/pipeline'
import { until } from '../../../../testing/until.ts'
import { ENGINES } from '../engines.ts'
import { ackedAre, metric, SILENT, World } from './world.ts'

function metadataIndexer(world: World, options: Partial<MetadataIndexerOptions> = {}): MetadataIndexer {
  const { storage, tidemark, runId } = world
  const index = world.place.address
  return new MetadataIndexer({ storage, tidemark, runId, index, logger: SILENT, ...options })
}

for (const engine of ENGINES) {
  describe(`metadata, on ${engine.name}`, () => {
    it('gets from the topic into the index, once or repeatedly', async () => {
      await using world = await World.on(engine)
      await world.announceMetadata(makeRunId())
      await world.announceMetadata()
      await using indexer = metadataIndexer(world)
      await indexer.start()
      await until(() => indexer.status().metrics.metadataWritten === 1, { what: 'the metadata' })
      const database = await world.place.open()
      assert.deepEqual(await database.metadata.read(), world.metadata())
      await world.announceMetadata()
      await until(() => indexer.status().metrics.metadataWritten === 2, { what: 'the metadata again' })
      assert.deepEqual(await database.metadata.read(), world.metadata())
      await indexer.stop()
      assert.equal(indexer.state, 'STOPPED')
      const { groups } = await world.tidemark.admin.describeTopic(world.metadataTopic)
      assert.deepEqual(
        groups.map(({ backlog, inFlight, retries }) => backlog + inFlight + retries),
        [0],
      )
    })

    it('is waited for: batches announced before are indexed when it arrives', async () => {
      await using world = await World.on(engine)
      await world.produce(2, 10)
      const watched = await world.started({ insertBatchSize: 20, metadata: { pollInterval: 10 } })
      await using indexer = metadataIndexer(world)
      await indexer.start()
      assert.equal(watched.indexer.status().metrics.batchesReceived, 0)
      await world.announceMetadata()
      await ackedAre(watched, 0, 10)
      await world.assertIndexed({ batches: 2, ticks: 20 })
    })

    it('is waited for without limit; the delay is reported, and batches announced meanwhile are indexed', async () => {
      await using world = await World.on(engine)
      await world.produce(1, 10)
      const watched = await world.started({ insertBatchSize: 10, metadata: { pollInterval: 5, maxDuration: 30 } })
      const { indexer } = watched
      await until(() => indexer.status().errors.length > 1, { what: 'it to be late' })
      const { state, healthy, waitingFor, errors } = indexer.status()
      assert.deepEqual([state, healthy, waitingFor], ['WAITING', false, `the metadata of run ${world.runId}`])
      assert.match(errors[0]?.error.message ?? '', /did not reach the index .* within 30 ms/)
      await world.indexMetadata()
      await ackedAre(watched, 0)
      assert.deepEqual([indexer.state, indexer.status().healthy], ['RUNNING', true])
    })

    it('does not keep the indexer from stopping while it waits', async () => {
      await using world = await World.on(engine)
      const { indexer } = await world.started({ metadata: { pollInterval: '1h' } })
      await indexer.stop()
      assert.equal(indexer.state, 'STOPPED')
    })

    it('is not needed by an indexer without that component', async () => {
      await using world = await World.on(engine)
      await world.produce(1, 10)
      const watched = await world.started({
        insertBatchSize: 10,
        definition: { ...dummyIndexer, components: ['buffering'] },
      })
      await ackedAre(watched, 0)
    })
  })

  describe(`an unspecified run, on ${engine.name}`, () => {
    it('is the newest that starts after the indexer', async () => {
      await using world = await World.on(engine)
      const now = Date.now()
      await world.storage.writeMetadata(world.metadata(makeRunId(now - 60_000)))
      const { storage, place, tidemark } = world
      const common = { storage, index: place.address, logger: SILENT, discoveryInterval: 5 }
      await using indexer = new BatchIndexer(dummyIndexer, {
        ...common,
        source: storageSource({ scanInterval: 5 }),
        insertBatchSize: 10,
        metadata: { pollInterval: 5 },
      })
      await using metadata = new MetadataIndexer({ ...common, tidemark })
      await indexer.start()
      await metadata.start()
      const newest = makeRunId(now + 60_000)
      await world.announceMetadata(newest)
      await world.write(0, 10, newest)
      await until(() => indexer.status().metrics.batchesIndexed === 1, { what: 'the batch of the newest run' })
    })

    it('is waited for until the indexer is stopped', async () => {
      await using world = await World.on(engine)
      const { storage, place, tidemark } = world
      const indexer = new MetadataIndexer({ storage, tidemark, index: place.address, logger: SILENT })
      await indexer.start()
      await indexer.stop()
      assert.equal(indexer.state, 'STOPPED')
    })
  })

  describe(`the metrics of an indexer, on ${engine.name}`, () => {
    it('are read from memory, in constant time', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      await world.produce(1, 10)
      const watched = await world.started({ insertBatchSize: 10 })
      await metric(watched, 'batchesIndexed', 1)
      const timeOf = () => {
        const started = performance.now()
        for (let read = 0; read < 2_000; read++) watched.indexer.status()
        return performance.now() - started
      }
      timeOf()
      const atFirst = Math.min(timeOf(), timeOf(), timeOf())
      await world.produce(100, 10, 10)
      await metric(watched, 'batchesIndexed', 101)
      await watched.indexer.stop()
      await world.place[Symbol.asyncDispose]()
      const later = Math.min(timeOf(), timeOf(), timeOf())
      assert.ok(later < 5 * atFirst + 5, `${later} ms after 101 batches, ${atFirst} ms after one`)
      assert.equal(watched.indexer.status().metrics.ticksIndexed, 1_010)
    })
  })
}
