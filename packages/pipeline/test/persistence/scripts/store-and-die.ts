/** A persistence service whose process is killed when a batch is stored, and before it is announced. */
import {
  BoundedQueue,
  DeadLetterQueue,
  type EncodedTick,
  FileSystemStorage,
  PersistenceService,
} from '../../../src/index.ts'
import { range, ticksOf } from '../../storage/ticks.ts'
import { openTopics, SILENT, withMethods } from '../workbench.ts'

const [folder = '', announcedBefore = '0'] = process.argv.slice(2)
const BATCH = 10
const storage = await FileSystemStorage.open({ root: `${folder}/storage` })
const topics = await openTopics(folder, { durability: 'full' })
const deadLetters = await DeadLetterQueue.open(topics)
const queue = new BoundedQueue<EncodedTick>({ maxItems: 1_000, maxBytes: 1e9, sizeOf: ({ bytes }) => bytes.length })
let stored = 0
const deadly = withMethods(storage, {
  writeBatch: async batch => {
    const result = await storage.writeBatch(batch)
    if (++stored > Number(announcedBefore)) process.kill(process.pid, 'SIGKILL')
    return result
  },
})
const resources = { queue, storage: deadly, topics, deadLetters, logger: SILENT }
await new PersistenceService('persistence', resources, { maxBatchSize: BATCH, concurrentBatches: 1 }).start()
for (const tick of ticksOf(range(0, 100))) await queue.put(tick)
