import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { zstdDecompress } from 'node:zlib'
import {
  BATCH_TOPIC,
  BatchIndexer,
  batchEnvelope,
  contractsRegistry,
  dummyIndexer,
  FileSystemStorage,
  makeRunId,
  openIndex,
  readDummyTotals,
  type StoredBatch,
  topicOfRun,
  topicSource,
} from '@tidemark/pipeline'
import { type Logger, open } from 'tidemark'
import { temporaryFolder } from '../../../testing/folders.ts'
import { figure, ratioAtLeast } from '../../figure.ts'
import { interleave, rateOf } from '../../interleave.ts'
import type { PipelineCase } from '../bench-case.ts'
import { storedBatches } from '../made-world.ts'

const BATCHES = 10
const BATCH = 1_000
const decompress = promisify(zstdDecompress)
/** Node's own 16 kB make it thirty times slower: each piece is a trip to another thread. */
const LARGE_PIECES = { chunkSize: 1024 ** 2 }
const SILENT: Logger = { debug() {}, info() {}, warn() {}, error() {} }

export const indexing: PipelineCase = {
  name: 'indexing',
  about:
    'stored batches through the dummy indexer, into its database and acked, next to reading and decompressing them',
  async run({ rounds, size }) {
    using folder = temporaryFolder()
    const root = join(folder.path, 'storage')
    const storage = await FileSystemStorage.open({ root })
    const batch = size(BATCH)
    const count = batch * BATCHES
    const stored = await storedBatches({ runId: makeRunId(), batches: BATCHES, ticksOfABatch: batch }, root)
    const { medians, samples } = await interleave(rounds, {
      raw: () =>
        rateOf(count, async () => {
          for (const { storageKey } of stored) await decompress(await readFile(join(root, storageKey)), LARGE_PIECES)
        }),
      ours: () => indexAll(storage, stored),
    })
    return [
      figure({
        case: `dummy index of ${count} ticks in batches of ${batch}`,
        engine: 'sqlite',
        unit: '/s',
        target: ratioAtLeast(0.6),
        ...medians,
        samples,
        note: 'ticks: claim, read, verify, count, durable rows, ack; raw: the same files read and decompressed',
      }),
    ]
  },
}

/** An index and topics of its own each time. */
async function indexAll(storage: FileSystemStorage, stored: readonly StoredBatch[]): Promise<number> {
  using folder = temporaryFolder()
  await using topics = await open(`sqlite:${join(folder.path, 'topics.db')}`, { registry: contractsRegistry })
  const runId = stored[0]?.runId ?? ''
  const topic = topicOfRun(BATCH_TOPIC, runId)
  await topics.configureTopic(topic, { semantics: 'pub-sub' })
  const index = `sqlite:${join(folder.path, 'index')}`
  await using database = await openIndex(index, runId)
  await database.metadata.write(metadataOf(runId))
  for (const batch of stored) await topics.publish(topic, batchEnvelope(batch))
  const count = stored.reduce((sum, { tickCount }) => sum + tickCount, 0)
  await using indexer = new BatchIndexer(dummyIndexer, {
    storage,
    index,
    runId,
    source: topicSource(topics),
    logger: SILENT,
  })
  const rate = await rateOf(count, async () => {
    await indexer.start()
    for (let indexed = 0; indexed < stored.length; indexed++) await once(indexer.events, 'indexed')
  })
  const totals = await readDummyTotals(database)
  if (totals.ticks !== count) throw new Error('Not all ticks were indexed')
  return rate
}

const metadataOf = (runId: string) => ({
  runId,
  startedAt: 1_760_000_000_000,
  seed: '42',
  samplingInterval: 1,
  environment: { shape: [100, 100], topology: 'torus' as const },
  settings: '{}',
  moleculeTypes: ['code', 'data', 'energy', 'structure'],
})
