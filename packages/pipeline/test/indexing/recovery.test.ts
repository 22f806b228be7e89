/** A failure that is over is told as over, also where the step that failed is never taken again. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import {
  dummyIndexer,
  type IndexerDefinition,
  IndexUnreachableError,
  MetadataIndexer,
  metadataEnvelope,
  StaleClaimError,
  storageSource,
} from '@tidemark/pipeline'
import { until } from '../../../../testing/until.ts'
import { ENGINES } from '../engines.ts'
import { Line } from '../line.ts'
import { ackedAre, failing, metric, SILENT, type Watched, World } from './world.ts'

const well = async ({ indexer }: Watched): Promise<void> => {
  await until(() => indexer.status().healthy, { what: () => `health; it says ${JSON.stringify(indexer.status())}` })
  assert.deepEqual(indexer.status().errors, [])
}

const unwell = async ({ indexer }: Watched, operation: string): Promise<void> => {
  await until(() => indexer.status().errors.some(({ action }) => action.startsWith(operation)), {
    what: () => `a failure of '${operation}'; it says ${JSON.stringify(indexer.status())}`,
  })
}

for (const engine of ENGINES) {
  describe(`a failure that is over, on ${engine.name}`, () => {
    it('is no longer reported for a flush whose only batch was taken over', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      const batch = await world.write(0, 10)
      let flushes = 0
      const definition: IndexerDefinition = {
        ...dummyIndexer,
        components: ['metadata', 'buffering', 'dlq'],
        async flush() {
          if (flushes++ === 0) throw new IndexUnreachableError('a test')
          throw new StaleClaimError(batch.storageKey, 1, 'claimed by another')
        },
      }
      let letters = 0
      const watched = await world.started({
        ...{ insertBatchSize: 10, maxRetries: 0, definition, source: storageSource() },
        deadLetters: async () => void letters++,
      })
      await metric(watched, 'batchesFailed', 1)
      await well(watched)
      assert.equal(letters, 0, 'a batch that was taken over has not failed')
    })

    it('is no longer reported for dead letters once the batch that could not become one is indexed', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      let failures = 1
      const watched = await world.started({
        insertBatchSize: 10,
        maxRetries: 0,
        definition: failing(() => failures-- > 0, { components: ['metadata', 'buffering', 'dlq'] }),
        deadLetters: () => Promise.reject(new Error('No letters today')),
      })
      await world.produce(1, 10)
      await ackedAre(watched, 0)
      await well(watched)
    })

    it('is no longer reported for a damaged file that was dead-lettered, which a listener is told', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      const batch = await world.write(0, 10)
      writeFileSync(join(world.storageRoot, batch.storageKey), 'damaged')
      const watched = world.indexer({
        insertBatchSize: 10,
        definition: { ...dummyIndexer, components: ['metadata', 'buffering', 'dlq'] },
        deadLetters: async () => undefined,
      })
      const heard: string[] = []
      watched.indexer.listen(event => event.type === 'error' && heard.push(event.action))
      await watched.indexer.start()
      await world.announce(batch)
      await metric(watched, 'batchesDeadLettered', 1)
      await well(watched)
      assert.ok(heard.includes(`gave up ${batch.storageKey}`), heard.join(', '))
    })

    it('is no longer reported for a damaged file that the ledger has marked as failed', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      const batch = await world.write(0, 10)
      writeFileSync(join(world.storageRoot, batch.storageKey), 'damaged')
      const watched = await world.started({ insertBatchSize: 10, source: storageSource({ maxAttempts: 1 }) })
      await metric(watched, 'ledgerFailed', 1)
      await well(watched)
    })

    it('is not reported for metadata of another run on the topic of this one', async () => {
      await using world = await World.on(engine)
      await world.announceMetadata()
      const { storage, tidemark, place, runId } = world
      await using indexer = new MetadataIndexer({ storage, tidemark, index: place.address, runId, logger: SILENT })
      await indexer.start()
      await until(() => indexer.status().metrics.metadataWritten === 1, { what: 'the metadata' })
      const other = { runId: runId.replace(/^\d{8}/, '20200101'), storageKey: 'x', writtenAt: 0 }
      await tidemark.publish(world.metadataTopic, metadataEnvelope(other as never))
      await until(() => (indexer.status().metrics.metadataFailed ?? 0) > 0, { what: 'the refusal' })
      assert.deepEqual([indexer.status().healthy, indexer.status().errors], [true, []])
    })
  })
}

// On SQLite an open file can be read wherever it was moved to.
describe('an index that was unavailable', () => {
  const postgres = ENGINES.find(({ name }) => name === 'PostgreSQL')
  assert.ok(postgres)

  it('is no longer reported for a batch that turns out to be indexed', async () => {
    await using world = await World.on(postgres)
    await world.indexMetadata()
    await using line = await Line.to(world.place.address)
    const definition: IndexerDefinition = { ...dummyIndexer, components: ['metadata', 'buffering', 'idempotency'] }
    const watched = await world.started({ index: line.url, insertBatchSize: 10, definition })
    const batch = await world.write(0, 10)
    await world.announce(batch)
    await ackedAre(watched, 0)
    await line.takeAway()
    await world.announce(batch)
    await unwell(watched, 'index')
    await line.giveBack()
    await metric(watched, 'batchesSkipped', 1)
    await well(watched)
  })

  it('is no longer reported for metadata that was late and has arrived', async () => {
    await using world = await World.on(postgres)
    await using line = await Line.to(world.place.address)
    const watched = await world.started({ index: line.url, metadata: { pollInterval: 10, maxDuration: 50 } })
    await unwell(watched, 'metadata')
    await line.takeAway()
    await unwell(watched, 'open')
    await world.indexMetadata()
    await line.giveBack()
    await until(() => watched.indexer.state === 'RUNNING', { what: 'it to run' })
    await well(watched)
  })
})
