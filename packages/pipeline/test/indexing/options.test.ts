import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  BatchIndexer,
  type BatchIndexerOptions,
  defineIndexer,
  dummyIndexer,
  FileSystemStorage,
  type IndexerDefinition,
  type StorageSourceOptions,
  storageSource,
} from '@tidemark/pipeline'
import { ConfigError } from 'tidemark'
import { temporaryFolder } from '../../../../testing/databases.ts'

const refuses = (work: () => unknown, option: string): void => {
  assert.throws(work, (error: unknown) => error instanceof ConfigError && error.message.includes(option))
}

describe('the options of an indexer', () => {
  const wrong: Record<string, unknown> = {
    insertBatchSize: 0,
    maxBufferBytes: -1,
    flushTimeout: 'soon',
    maxRetries: 1.5,
    discoveryInterval: 0,
    source: 'topic',
    metadata: { maxDuration: 'long' },
    ledger: { gapWarningTimeout: 'never' },
    insertBatchsize: 10,
  }
  for (const [name, value] of Object.entries(wrong)) {
    it(`${name} can't be ${JSON.stringify(value)}`, async () => {
      using folder = temporaryFolder()
      const storage = await FileSystemStorage.open({ root: folder.path })
      const options = { storage, index: `sqlite:${folder.path}`, source: storageSource(), [name]: value }
      const option = typeof value === 'object' && value !== null ? (Object.keys(value)[0] ?? name) : name
      refuses(() => new BatchIndexer(dummyIndexer, options as BatchIndexerOptions), option)
    })
  }

  it('require a place for dead letters', async () => {
    using folder = temporaryFolder()
    const storage = await FileSystemStorage.open({ root: folder.path })
    const definition = { ...dummyIndexer, components: ['metadata', 'dlq'] } as const
    const options = { storage, index: `sqlite:${folder.path}`, source: storageSource() }
    refuses(() => new BatchIndexer(definition, options), 'deadLetters')
  })
})

describe('how often a batch may fail', () => {
  it('is decided by the dead letters, so a source that gives up before is refused', async () => {
    using folder = temporaryFolder()
    const storage = await FileSystemStorage.open({ root: folder.path })
    const definition = { ...dummyIndexer, components: ['metadata', 'dlq'] } as const
    const common = { storage, index: `sqlite:${folder.path}`, deadLetters: async () => {} }
    const source = storageSource({ maxAttempts: 3 })
    refuses(() => new BatchIndexer(definition, { ...common, source, maxRetries: 3 }), 'a whole number below 3')
    assert.ok(new BatchIndexer(definition, { ...common, source, maxRetries: 2 }))
  })
})

describe('the options of the storage source', () => {
  for (const options of [{ scanInterval: 0 }, { maxAttempts: 0 }, { retryDelay: 'x' }, { claimers: 'a' }]) {
    it(`can't be ${JSON.stringify(options)}`, () => {
      refuses(() => storageSource(options as StorageSourceOptions), Object.keys(options)[0] ?? '')
    })
  }
})

describe('a definition', () => {
  const flush = async () => {}

  it('has metadata and buffering unless it names its components', () => {
    assert.deepEqual(defineIndexer({ name: 'a', flush }).components, ['metadata', 'buffering'])
    assert.deepEqual(defineIndexer({ name: 'a', flush, components: [] }).components, [])
  })

  const wrong: Record<string, object> = {
    name: { name: 'with space', flush },
    components: { name: 'a', flush, components: ['caching'] },
    flush: { name: 'a' },
    prepare: { name: 'a', flush, prepare: 1 },
    flushes: { name: 'a', flush, flushes: flush },
  }
  for (const [option, definition] of Object.entries(wrong)) {
    it(`is refused for its ${option}`, () => refuses(() => defineIndexer(definition as IndexerDefinition), option))
  }
})
