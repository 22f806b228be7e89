import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { constants, zstdCompress, zstdDecompress } from 'node:zlib'
import {
  decodeRawTick,
  type EncodedTick,
  encodeTick,
  FileSystemStorage,
  makeRunId,
  type Tick,
  type TickBatch,
} from '@tidemark/pipeline'
import { temporaryFolder } from '../../../testing/folders.ts'
import { figure, ratioAtLeast } from '../../figure.ts'
import { interleave, rateOf } from '../../interleave.ts'
import type { PipelineCase } from '../bench-case.ts'
import { worldTicks } from '../world.ts'

const BATCH = 1_000
const compress = promisify(zstdCompress)
const decompress = promisify(zstdDecompress)
const LEVEL_3 = { params: { [constants.ZSTD_c_compressionLevel]: 3 } }

export const storage: PipelineCase = {
  name: 'storage',
  about: "a batch encoded, compressed and stored durably, next to zstd's own pace on the same bytes; and read back",
  async run({ rounds, size }) {
    using folder = temporaryFolder()
    const count = size(BATCH)
    const runId = makeRunId()
    const ticks = worldTicks(runId, count)
    const storage = await FileSystemStorage.open({ root: folder.path })
    const bytes = Buffer.concat(ticks.map(tick => encodeTick(tick).bytes))
    const compressed = await compress(bytes, LEVEL_3)
    const write = await interleave(rounds, {
      raw: () => rateOf(count, () => compress(bytes, LEVEL_3)),
      ours: async () => {
        rmSync(join(folder.path, runId), { recursive: true, force: true })
        return await rateOf(count, () => storage.writeBatch(streamed(runId, ticks)))
      },
    })
    const { items } = await storage.listBatches({ prefix: `${runId}/` })
    const key = items[0]?.key ?? ''
    const read = await interleave(rounds, {
      raw: () => rateOf(count, () => decompress(compressed)),
      ours: () => rateOf(count, () => readRaw(storage, key)),
    })
    const megabytes = (bytes.length / 1e6).toFixed(0)
    const common = { engine: '-', unit: '/s' } as const
    return [
      figure({
        case: `store ${count} ticks`,
        ...common,
        ...write.medians,
        samples: write.samples,
        target: ratioAtLeast(0.6),
        note: `ticks, ${megabytes} MB: encode, zstd 3, fsync; raw: zstd 3 alone, in memory`,
      }),
      figure({
        case: `read ${count} raw ticks`,
        ...common,
        ...read.medians,
        samples: read.samples,
        note: 'ticks, verified, cells left as bytes; raw: decompress alone, in memory',
      }),
    ]
  },
}

/** Encoded as they are asked for, as a queue would hand them over. */
function streamed(runId: string, ticks: readonly Tick[]): TickBatch {
  function* encoded(): Generator<EncodedTick> {
    for (const tick of ticks) yield encodeTick(tick)
  }
  const range = { tickStart: ticks[0]?.tick ?? 0, tickEnd: ticks.at(-1)?.tick ?? 0 }
  return { runId, ...range, tickCount: ticks.length, ticks: encoded() }
}

async function readRaw(storage: FileSystemStorage, key: string): Promise<void> {
  for await (const { bytes } of storage.readTicks(key)) decodeRawTick(bytes)
}
