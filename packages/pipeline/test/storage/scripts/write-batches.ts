/** Writes batch after batch of 20 ticks until it is killed, and says each one's key only after it is stored. */
import { batchOf, FileSystemStorage } from '../../../src/index.ts'
import { range, ticksOf } from '../ticks.ts'

const [root = '', firstTick = '0', compression = 'zstd'] = process.argv.slice(2)
const storage = await FileSystemStorage.open({ root, compression: compression === 'none' ? 'none' : 'zstd' })
for (let tick = Number(firstTick); ; tick += 20) {
  const { storageKey } = await storage.writeBatch(batchOf(ticksOf(range(tick, 20), { genomeBytes: 20_000 })))
  console.log(storageKey)
}
