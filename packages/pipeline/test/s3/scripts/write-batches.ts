/** Writes batch after batch of 20 ticks until it is killed, and says each one's key only after it is stored. */
import { batchOf, S3Storage, type S3StorageOptions } from '../../../src/index.ts'
import { range, ticksOf } from '../../storage/ticks.ts'

const [options = '{}', firstTick = '0'] = process.argv.slice(2)
const storage = await S3Storage.open(JSON.parse(options) as S3StorageOptions)
for (let tick = Number(firstTick); ; tick += 20) {
  const ticks = ticksOf(range(tick, 20), { genomeBytes: 20_000, isRandom: true })
  const { storageKey } = await storage.writeBatch(batchOf(ticks))
  console.log(storageKey)
}
