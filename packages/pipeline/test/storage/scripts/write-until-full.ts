/** Writes a batch that fits, then one that does not, and says what became of them. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { batchOf, FileSystemStorage, StorageFullError } from '../../../src/index.ts'
import { RUN_ID } from '../../arbitraries.ts'
import { range, ticksOf } from '../ticks.ts'

const [root = '', compression = 'none'] = process.argv.slice(2)
const storage = await FileSystemStorage.open({ root, compression: compression === 'none' ? 'none' : 'zstd' })
const small = await storage.writeBatch(batchOf(ticksOf(range(0, 2))))
const large = batchOf(ticksOf(range(100, 20), { genomeBytes: 200_000, isRandom: true }))
const error = await storage.writeBatch(large).then(
  () => null,
  (error: unknown) => error,
)
const { items } = await storage.listBatches({ prefix: `${RUN_ID}/` })
const report = {
  isFull: error instanceof StorageFullError,
  message: String(error),
  listed: items.map(item => item.key),
  incoming: readdirSync(join(root, '.incoming')),
  ticksOfTheFirst: (await storage.readBatch(small.storageKey)).length,
}
console.log(JSON.stringify(report))
