import { join } from 'node:path'
import { promisify } from 'node:util'
import { constants, zstdCompress } from 'node:zlib'
import {
  BoundedQueue,
  contractsRegistry,
  DeadLetterQueue,
  type EncodedTick,
  encodeTick,
  FileSystemStorage,
  makeRunId,
  PersistenceService,
  type Tick,
} from '@tidemark/pipeline'
import { type Logger, open } from 'tidemark'
import { temporaryFolder } from '../../../testing/folders.ts'
import { figure, ratioAtLeast } from '../../figure.ts'
import { interleave, rateOf } from '../../interleave.ts'
import type { PipelineCase } from '../bench-case.ts'
import { worldTicks } from '../world.ts'

const BATCHES = 4
const BATCH = 500
const compress = promisify(zstdCompress)
const LEVEL_3 = { params: { [constants.ZSTD_c_compressionLevel]: 3 } }
const SILENT: Logger = { debug() {}, info() {}, warn() {}, error() {} }

export const persistence: PipelineCase = {
  name: 'persistence',
  about: "ticks through the persistence service, from memory to durable and announced, next to zstd's own pace",
  async run({ rounds, size }) {
    const batch = size(BATCH)
    const ticks = worldTicks(makeRunId(), batch * BATCHES)
    const buffers = Array.from({ length: BATCHES }, (_, slot) =>
      Buffer.concat(ticks.slice(slot * batch, (slot + 1) * batch).map(tick => encodeTick(tick).bytes)),
    )
    const { medians, samples } = await interleave(rounds, {
      raw: () =>
        rateOf(ticks.length, async () => {
          for (const buffer of buffers) await compress(buffer, LEVEL_3)
        }),
      ours: () => persistAll(ticks, batch),
    })
    const megabytes = (buffers.reduce((sum, { length }) => sum + length, 0) / 1e6).toFixed(0)
    const measured = { engine: 'sqlite', unit: '/s', target: ratioAtLeast(0.6) } as const
    return [
      figure({
        case: `persist ${ticks.length} ticks in batches of ${batch}`,
        ...measured,
        ...medians,
        samples,
        note: `ticks, ${megabytes} MB: encode, queue, zstd 3, fsync, publish; raw: zstd 3 alone, in memory`,
      }),
    ]
  },
}

/** A storage and topics of its own each time: what is stored already would be left out. */
async function persistAll(ticks: readonly Tick[], maxBatchSize: number): Promise<number> {
  using folder = temporaryFolder()
  const storage = await FileSystemStorage.open({ root: join(folder.path, 'storage') })
  await using topics = await open(`sqlite:${join(folder.path, 'topics.db')}`, { registry: contractsRegistry })
  const deadLetters = await DeadLetterQueue.open(topics)
  const sizeOf = ({ bytes }: EncodedTick): number => bytes.length
  const queue = new BoundedQueue<EncodedTick>({ maxItems: 1_000, maxBytes: 64e6, sizeOf })
  const resources = { queue, storage, topics, deadLetters, logger: SILENT }
  const service = new PersistenceService('persistence', resources, { maxBatchSize })
  await service.start()
  const rate = await rateOf(ticks.length, async () => {
    for (const tick of ticks) await queue.put(encodeTick(tick))
    queue.close()
    await service.ended()
  })
  const { ticksWritten, notificationsSent } = service.status().metrics
  if (ticksWritten !== ticks.length || notificationsSent !== BATCHES) throw new Error('Not all ticks were persisted')
  return rate
}
