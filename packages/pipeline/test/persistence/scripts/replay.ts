/** Two persistence services and a reconciler, and a source that begins with tick 0 at every start. */
import {
  BoundedQueue,
  DeadLetterQueue,
  type EncodedTick,
  FileSystemStorage,
  PersistenceService,
  Reconciler,
} from '../../../src/index.ts'
import { range, ticksOf } from '../../storage/ticks.ts'
import { metric, openTopics, SILENT } from '../workbench.ts'

const [folder = '', count = '0', maxBatchSize = '7'] = process.argv.slice(2)
const storage = await FileSystemStorage.open({ root: `${folder}/storage` })
const topics = await openTopics(folder)
const deadLetters = await DeadLetterQueue.open(topics)
const queue = new BoundedQueue<EncodedTick>({ maxItems: 50, maxBytes: 1e9, sizeOf: ({ bytes }) => bytes.length })
const resources = { queue, storage, topics, deadLetters, logger: SILENT }
const options = { maxBatchSize: Number(maxBatchSize) }
const services = ['a', 'b'].map(name => new PersistenceService(name, resources, options))
const reconciler = new Reconciler('reconciler', resources, { interval: '5ms' })
for (const service of [reconciler, ...services]) await service.start()
for (const tick of ticksOf(range(0, Number(count)))) {
  await queue.put(tick)
  if (tick.tick % 50 === 0) console.log(`sent ${tick.tick}`)
}
queue.close()
for (const service of services) await service.ended()
await metric(reconciler, 'looks', (reconciler.status().metrics.looks ?? 0) + 2)
await reconciler.stop()
await topics.close()
console.log('done')
