/** A disk that is full when ticks come, and has room again after some attempts. Says what became of them. */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { until } from '../../../../../testing/until.ts'
import {
  BoundedQueue,
  DeadLetterQueue,
  type EncodedTick,
  FileSystemStorage,
  PersistenceService,
} from '../../../src/index.ts'
import { range, ticksOf } from '../../storage/ticks.ts'
import { metric, openTopics, SILENT } from '../workbench.ts'

const [disk = '', folder = ''] = process.argv.slice(2)
const storage = await FileSystemStorage.open({ root: disk })
await using topics = await openTopics(folder)
const deadLetters = await DeadLetterQueue.open(topics)
const queue = new BoundedQueue<EncodedTick>({ maxItems: 1_000, maxBytes: 1e9, sizeOf: ({ bytes }) => bytes.length })
const retry = { maxRetries: 1_000, initialBackoff: '5ms', maxBackoff: '10ms' } as const
const resources = { queue, storage, topics, deadLetters, logger: SILENT }
await using service = new PersistenceService('persistence', resources, { maxBatchSize: 10, retry })
writeFileSync(join(disk, 'ballast'), new Uint8Array(800_000))
await service.start()
for (const tick of ticksOf(range(0, 10), { genomeBytes: 50_000, isRandom: true })) await queue.put(tick)
await until(() => service.status().errors.length >= 3, { what: 'three failed attempts' })
const reason = service.status().errors[0]?.error.name
rmSync(join(disk, 'ballast'))
await metric(service, 'notificationsSent', 1)
const { ticksWritten } = service.status().metrics
console.log(JSON.stringify({ reason, ticksWritten, deadLetters: await deadLetters.count() }))
