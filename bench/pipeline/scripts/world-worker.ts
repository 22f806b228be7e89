/**
 * Makes the world's ticks in a thread of its own: what only prepares a measurement is not to be in the heap of what is
 * measured, where the garbage collector would go over it again and again.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { batchOf, type EncodedTick, encodeTick, FileSystemStorage, type StoredBatch } from '@tidemark/pipeline'
import { worldTicks } from '../world.ts'

export type WorldWork = {
  readonly runId: string
  readonly batches: number
  readonly ticksOfABatch: number
  /** Where they are stored; if not given, their bytes are handed over. */
  readonly root: string | undefined
}

const { runId, batches, ticksOfABatch, root } = workerData as WorldWork
const encoded = worldTicks(runId, batches * ticksOfABatch).map(encodeTick)
const each = Array.from({ length: batches }, (_, at) => encoded.slice(at * ticksOfABatch, (at + 1) * ticksOfABatch))
parentPort?.postMessage(root === undefined ? each.map(joined) : await stored(root))

function joined(ticks: readonly EncodedTick[]): Uint8Array {
  return Buffer.concat(ticks.map(({ bytes }) => bytes))
}

async function stored(folder: string): Promise<StoredBatch[]> {
  const storage = await FileSystemStorage.open({ root: folder })
  const all: StoredBatch[] = []
  for (const ticks of each) all.push(await storage.writeBatch(batchOf(ticks)))
  return all
}
