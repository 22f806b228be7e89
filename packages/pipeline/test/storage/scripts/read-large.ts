/** Writes and reads 120 MB in ticks of 1 MB, and says how much memory of buffers there was at most. Needs --expose-gc. */
import { type EncodedTick, FileSystemStorage } from '../../../src/index.ts'
import { RUN_ID } from '../../arbitraries.ts'
import { range, ticksOf } from '../ticks.ts'

const TICKS = 120
/** Collecting garbage takes longer than reading, so not at every tick. */
const SAMPLE_EVERY = 6
const [root = '', compression = 'zstd'] = process.argv.slice(2)
const storage = await FileSystemStorage.open({ root, compression: compression === 'none' ? 'none' : 'zstd' })
let peak = 0

function sample(tick: number): void {
  if (tick % SAMPLE_EVERY !== 0) return
  globalThis.gc?.()
  peak = Math.max(peak, process.memoryUsage().arrayBuffers)
}

async function* ticks(): AsyncGenerator<EncodedTick> {
  for (const tick of range(0, TICKS)) {
    yield* ticksOf([tick], { genomeBytes: 1_000_000 })
    sample(tick)
  }
}

const batch = { runId: RUN_ID, tickStart: 0, tickEnd: TICKS - 1, tickCount: TICKS, ticks: ticks() }
const { storageKey } = await storage.writeBatch(batch)
const writing = peak
peak = 0
let count = 0
for await (const { tick, bytes } of storage.readTicks(storageKey)) {
  count += bytes.length > 1_000_000 ? 1 : 0
  sample(tick)
}
console.log(JSON.stringify({ count, writing, reading: peak }))
