import { once } from 'node:events'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { MessageChannel, Worker } from 'node:worker_threads'
import { constants, zstdCompress } from 'node:zlib'
import {
  contractsRegistry,
  DeadLetterQueue,
  type EncodedTick,
  FileSystemStorage,
  makeRunId,
  PersistenceService,
  WorkerQueueReceiver,
} from '@tidemark/pipeline'
import { type Logger, open } from 'tidemark'
import { temporaryFolder } from '../../../testing/folders.ts'
import { figure, ratioAtLeast } from '../../figure.ts'
import { interleave, rateOf } from '../../interleave.ts'
import type { PipelineCase } from '../bench-case.ts'
import { encodedBatches } from '../made-world.ts'
import type { EncodingWork } from '../scripts/encoding-worker.ts'

const BATCHES = 10
/** As the service has it by default. */
const BATCH = 1_000
const compress = promisify(zstdCompress)
/** In large pieces: each is a trip to another thread, and Node's own 16 kB make many. */
const LEVEL_3 = { chunkSize: 1024 ** 2, params: { [constants.ZSTD_c_compressionLevel]: 3 } }
const SILENT: Logger = { debug() {}, info() {}, warn() {}, error() {} }

export const persistence: PipelineCase = {
  name: 'persistence',
  about: "ticks through the persistence service, from memory to durable and announced, next to zstd's own pace",
  async run({ rounds, size }) {
    const batch = size(BATCH)
    const runId = makeRunId()
    const count = batch * BATCHES
    const buffers = await encodedBatches({ runId, batches: BATCHES, ticksOfABatch: batch })
    const { medians, samples } = await interleave(rounds, {
      raw: () =>
        rateOf(count, async () => {
          for (const buffer of buffers) await compress(buffer, LEVEL_3)
        }),
      ours: () => persistAll(runId, count, batch),
    })
    const megabytes = (buffers.reduce((sum, { length }) => sum + length, 0) / 1e6).toFixed(0)
    const measured = { engine: 'sqlite', unit: '/s', target: ratioAtLeast(0.6) } as const
    return [
      figure({
        case: `persist ${count} ticks in batches of ${batch}`,
        ...measured,
        ...medians,
        samples,
        note: `ticks, ${megabytes} MB: encode in a thread as the simulation does, queue, zstd 3, fsync, publish; raw: zstd 3 alone`,
      }),
    ]
  },
}

/** A storage and topics of its own each time: what is stored already would be left out. */
async function persistAll(runId: string, count: number, maxBatchSize: number): Promise<number> {
  using folder = temporaryFolder()
  const storage = await FileSystemStorage.open({ root: join(folder.path, 'storage') })
  await using topics = await open(`sqlite:${join(folder.path, 'topics.db')}`, { registry: contractsRegistry })
  const deadLetters = await DeadLetterQueue.open(topics)
  await using producer = await startProducer(runId, count)
  const resources = { queue: producer.queue, storage, topics, deadLetters, logger: SILENT }
  const service = new PersistenceService('persistence', resources, { maxBatchSize })
  await service.start()
  const rate = await rateOf(count, async () => {
    producer.go()
    await service.ended()
  })
  const { ticksWritten, notificationsSent } = service.status().metrics
  if (ticksWritten !== count || notificationsSent !== BATCHES) throw new Error('Not all ticks were persisted')
  return rate
}

type Producer = AsyncDisposable & { readonly queue: WorkerQueueReceiver<EncodedTick>; go(): void }

async function startProducer(runId: string, count: number): Promise<Producer> {
  const ticks = new MessageChannel()
  const start = new MessageChannel()
  const queue = new WorkerQueueReceiver<EncodedTick>(ticks.port1, { maxItems: 1_000, maxBytes: 64e6 })
  const workerData: EncodingWork = { runId, count, port: ticks.port2, start: start.port2 }
  const worker = new Worker(new URL('../scripts/encoding-worker.ts', import.meta.url), {
    workerData,
    transferList: [ticks.port2, start.port2],
  })
  await once(start.port1, 'message')
  return {
    queue,
    go: () => start.port1.postMessage('go'),
    [Symbol.asyncDispose]: async () => void (await worker.terminate()),
  }
}
