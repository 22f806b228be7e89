/** The dummy indexer in a process of its own, which prints what it has indexed and stops at a SIGTERM. */
import {
  BatchIndexer,
  contractsRegistry,
  dummyIndexer,
  FileSystemStorage,
  storageSource,
  topicSource,
} from '@tidemark/pipeline'
import { open } from 'tidemark'

export type IndexerArguments = {
  readonly topicsUrl: string
  readonly storageRoot: string
  readonly index: string
  readonly runId: string
  readonly source: 'topic' | 'storage'
  readonly insertBatchSize?: number
  readonly flushTimeout?: number
  readonly claimTimeout?: number
  /** At the flush that begins with this tick, or with a later one, it stops and says so. */
  readonly hangAtTick?: number
}

const given = JSON.parse(process.argv[2] ?? '') as IndexerArguments
const { topicsUrl, storageRoot, index, runId, insertBatchSize = 10, hangAtTick = Number.POSITIVE_INFINITY } = given
const tidemark = await open(topicsUrl, { registry: contractsRegistry, sweepInterval: 20 })
const indexer = new BatchIndexer(
  {
    ...dummyIndexer,
    async flush(ticks, tx, flush) {
      if ((ticks[0]?.tick ?? 0) >= hangAtTick) {
        console.log('hangs')
        await new Promise(() => {})
      }
      await dummyIndexer.flush(ticks, tx, flush)
    },
  },
  {
    storage: await FileSystemStorage.open({ root: storageRoot }),
    index,
    runId,
    indexOptions: { durability: 'process' },
    source: given.source === 'topic' ? topicSource(tidemark) : storageSource({ scanInterval: 20 }),
    insertBatchSize,
    flushTimeout: given.flushTimeout ?? 200,
    ledger: { claimTimeout: given.claimTimeout ?? '5m' },
  },
)
indexer.events.on('indexed', ({ tickStart }) => console.log(`indexed ${tickStart}`))
await indexer.start()
console.log('ready')
process.once('SIGTERM', async () => {
  await indexer.stop()
  await tidemark.close()
  process.disconnect?.()
})
