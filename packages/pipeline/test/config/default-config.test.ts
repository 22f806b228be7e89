import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { temporaryFolder } from '../../../../testing/folders.ts'
import { checkConfig, defaultConfig, type PipelineConfig, storageName, topicWrite } from '../../src/index.ts'
import { runConfig } from '../services/pipelines.ts'

/** The default with other bindings, or without, for one of its services. */
function withBindings(folder: string, service: string, bindings: object): PipelineConfig {
  const { resources = {}, services } = defaultConfig({ dataFolder: folder })
  const given = services[service]
  assert.ok(given)
  const changed = { ...given, bindings: { ...given.bindings, ...bindings } } as typeof given
  return { resources, services: { [service]: changed } }
}

describe('the default configuration', () => {
  it('passes the check, and keeps everything under its data folder', () => {
    const { resources, services } = checkConfig(defaultConfig({ dataFolder: '/somewhere/else' }), '.')
    const places = [
      resources.topics?.url,
      storageName(resources.storages.ticks ?? { root: '' }),
      resources.indexes.runs?.address,
      services.find(({ name }) => name === 'simulation')?.options.stateFolder,
    ]
    assert.deepEqual(places, [
      'sqlite:/somewhere/else/topics.db',
      '/somewhere/else/storage',
      'sqlite:/somewhere/else/index',
      '/somewhere/else/simulation',
    ])
  })

  it('stops the simulation before the services that store its last ticks, and the indexers last', () => {
    const names = Object.keys(defaultConfig().services).reverse()
    assert.equal(names[0], 'simulation')
    assert.ok(names.indexOf('persistence') < names.indexOf('dummy-indexer'))
  })
})

describe('service types of the pipeline', () => {
  for (const [service, binding, topic] of [
    ['persistence', 'batches', 'batch-topic'],
    ['metadata-persistence', 'announcements', 'metadata-topic'],
    ['reconciler', 'batches', 'batch-topic'],
    ['reconciler', 'metadata', 'metadata-topic'],
  ] as const) {
    it(`${service} refuses ${binding} on a topic that nobody reads`, () => {
      const config = withBindings('./data', service, { [binding]: topicWrite('another-topic') })
      const expected = new RegExp(`services\\.${service}\\.bindings\\.${binding}.*another-topic.*${topic}`)
      assert.throws(() => checkConfig(config, '.'), expected)
    })
  }

  it('dummy-indexer needs a topic, unless the storage is its source', async () => {
    using folder = temporaryFolder()
    const without = withBindings(folder.path, 'dummy-indexer', { batches: undefined })
    assert.throws(() => checkConfig(without, '.'), /dummy-indexer\.bindings\.batches.*'storage'/)
    const indexer = without.services['dummy-indexer']
    assert.ok(indexer?.type === 'dummy-indexer')
    const fromStorage = { ...indexer, options: { ...indexer.options, source: 'storage' as const } }
    await using pipeline = await runConfig({ ...without, services: { 'dummy-indexer': fromStorage } })
    assert.deepEqual(pipeline.report, { started: ['dummy-indexer'], waiting: [], failed: [] })
  })
})
