import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { temporaryFolder } from '../../../../testing/folders.ts'
import { until } from '../../../../testing/until.ts'
import { defaultConfig, type Pipeline, type PipelineConfig } from '../../src/index.ts'
import { runConfig } from '../services/pipelines.ts'

const INDEXERS = ['environment-indexer', 'organism-indexer', 'series-indexer']
const LAST_TICK = 60

/** The default pipeline on a small world that ends with its 60th tick, in small batches. */
function smallAndFast(dataFolder: string, indexes?: string): PipelineConfig {
  const config = defaultConfig({ dataFolder, newRun: false })
  const services = Object.entries(config.services).map(([name, service]) => {
    const options = {
      simulation: { shape: [10, 10], maxTicks: LAST_TICK, ticksPerSecond: 10_000 },
      persistence: { maxBatchSize: 20, batchTimeout: '100ms' },
    }[name]
    const flushTimeout = name.endsWith('-indexer') && name !== 'metadata-indexer' ? { flushTimeout: '100ms' } : {}
    return [name, { ...service, options: { ...service.options, ...flushTimeout, ...options } }]
  })
  const resources = {
    ...config.resources,
    ...(indexes !== undefined && { indexes: { runs: { address: `sqlite:${indexes}` } } }),
  }
  return { ...config, resources, services: Object.fromEntries(services) }
}

const untilIndexed = async (pipeline: Pipeline): Promise<void> => {
  const isIndexed = async () => {
    const { indexedTicks, indexedBatches, storedBatches, waitingBatches } = await pipeline.progress()
    return indexedTicks === LAST_TICK + 1 && indexedBatches === storedBatches && waitingBatches === 0
  }
  await until(isIndexed, { what: 'all ticks in the index', timeout: 60_000 })
}

describe("a pipeline's progress", () => {
  it('has the ticks produced, stored and indexed by each indexer', async () => {
    using folder = temporaryFolder()
    await using pipeline = await runConfig(smallAndFast(folder.path))
    await untilIndexed(pipeline)
    const progress = await pipeline.progress()
    assert.match(progress.runId ?? '', /^\d{8}-/)
    assert.deepEqual([progress.tick, progress.storedTicks, progress.queuedTicks], [LAST_TICK, LAST_TICK + 1, 0])
    assert.ok(progress.storedBatches >= 4 && progress.storedBytes > 0)
    const names = progress.indexers.map(({ name }) => name)
    for (const name of INDEXERS) assert.ok(names.includes(name), `${name} in ${names}`)
    for (const { name, ticks, batches, waitingBatches } of progress.indexers) {
      assert.deepEqual([ticks, batches, waitingBatches], [LAST_TICK + 1, progress.storedBatches, 0], name)
    }
    assert.deepEqual([progress.openGaps, progress.permanentGaps, progress.deadLetters], [0, 0, 0])
    assert.equal(progress.disk.maxBytes, 2e9)
    assert.deepEqual([progress.state, progress.waitingFor], ['RUNNING', []])
    await pipeline.services.pause('persistence')
    assert.equal((await pipeline.progress()).state, 'PAUSED')
    await pipeline.services.stop()
    assert.equal((await pipeline.progress()).state, 'STOPPED')
  })

  it('counts what an indexer with the source storage has indexed', async () => {
    using folder = temporaryFolder()
    const config = smallAndFast(folder.path)
    const { 'environment-indexer': indexer } = config.services
    assert.ok(indexer)
    const { batches: _, ...bindings } = indexer.bindings as { readonly [name: string]: unknown }
    const ofStorage = {
      ...indexer,
      bindings,
      options: { ...indexer.options, source: 'storage', scanInterval: '50ms' },
    } as typeof indexer
    const services = { ...config.services, 'environment-indexer': ofStorage }
    await using pipeline = await runConfig({ ...config, services })
    const ofIndexer = async () =>
      (await pipeline.progress()).indexers.find(({ name }) => name === 'environment-indexer')
    await until(async () => (await ofIndexer())?.ticks === LAST_TICK + 1, { what: 'all ticks, from the storage' })
    await until(async () => (await ofIndexer())?.waitingBatches === 0, { what: 'no batch to wait' })
    await untilIndexed(pipeline)
  })

  it('shows what it waits for, and how many batches wait', async () => {
    using folder = temporaryFolder()
    const indexes = join(folder.path, 'away')
    // A file where the folder of the indexes should be.
    writeFileSync(indexes, '')
    await using pipeline = await runConfig(smallAndFast(folder.path, indexes))
    const isStuck = async () => {
      const { storedTicks, waitingFor } = await pipeline.progress()
      return storedTicks === LAST_TICK + 1 && waitingFor.join() === 'the index database'
    }
    await until(isStuck, { what: 'all ticks to be stored, and the index to be missed', timeout: 60_000 })
    const { state, waitingBatches, storedBatches, indexedTicks } = await pipeline.progress()
    assert.equal(state, 'WAITING')
    assert.deepEqual([waitingBatches, indexedTicks], [storedBatches, 0])
    rmSync(indexes)
    await untilIndexed(pipeline)
  })
})
