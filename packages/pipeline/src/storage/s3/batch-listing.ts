import type { TickRange } from '../../databases/ledger-store.ts'
import { isInPlace, pageOf, understand, type Wanted, wantedBatch } from '../batch-query.ts'
import { parseBatchKey, parseLevel, TICKS_PER_L0, TICKS_PER_L1 } from '../keys.ts'
import type { BatchQuery, BatchRef, Page } from '../storage.ts'
import type { StoredObject } from './answers.ts'
import type { S3Client } from './client.ts'
import { listFolders, listObjects } from './objects.ts'

/** Requests only keys that can be part of the page. Within an L0 folder, the order of keys is that of ticks. */
export async function listBatches(client: S3Client, query: BatchQuery): Promise<Page<BatchRef>> {
  const wanted = understand(query)
  return await pageOf(batchesOf(client, wanted), wanted.limit)
}

type Level = { readonly folder: string; readonly firstTick: number }

/** Objects of batches that begin in the range, with their sizes, and others beside them. */
export async function* batchObjects(
  client: S3Client,
  runId: string,
  { tickStart, tickEnd }: TickRange,
): AsyncGenerator<StoredObject, void, undefined> {
  for (const level of await levelsIn(client, `${runId}/raw/`, 0, TICKS_PER_L0)) {
    if (level.firstTick > tickEnd || level.firstTick + TICKS_PER_L0 <= tickStart) continue
    for await (const object of listObjects(client, level.folder, { after: keyBefore(level, tickStart) })) {
      if (isInPlace(object.key) && parseBatchKey(object.key).tickStart > tickEnd) break
      yield object
    }
  }
}

async function* batchesOf(client: S3Client, wanted: Wanted): AsyncGenerator<BatchRef, void, undefined> {
  const top = await levelsIn(client, `${wanted.runId}/raw/`, 0, TICKS_PER_L0)
  const first = wanted.after?.tickStart ?? (await startOf(client, top, wanted))
  for (const { folder, firstTick } of top) {
    if (firstTick > wanted.to || firstTick + TICKS_PER_L0 <= first) continue
    const prefix = wanted.prefix.startsWith(folder) ? wanted.prefix : folder
    if (!prefix.startsWith(wanted.prefix)) continue
    const after = wanted.after?.key.startsWith(folder) ? wanted.after.key : keyBefore({ folder, firstTick }, first)
    for await (const { key } of listObjects(client, prefix, { after })) {
      if (isInPlace(key) && parseBatchKey(key).tickStart > wanted.to) break
      const batch = wantedBatch(key, wanted)
      if (batch !== undefined) yield batch
    }
  }
}

/** How far back a batch may have begun, at first; looking further takes a request each. */
const LOOK_BACK = [1_000, TICKS_PER_L1, TICKS_PER_L0]

/** The tick from which on a listing has the last batch that begins before the range; if there is none, of the range. */
async function startOf(client: S3Client, top: readonly Level[], { from }: Wanted): Promise<number> {
  if (from === 0) return 0
  for (const level of top.toReversed()) {
    if (level.firstTick >= from) continue
    if (level.firstTick + TICKS_PER_L0 > from) {
      for (const ticks of LOOK_BACK) {
        const start = await firstFrom(client, level, Math.max(level.firstTick, from - ticks))
        if (start !== undefined && start < from) return start
      }
      continue
    }
    // An earlier one: the batch is in its last folder with a batch.
    const folders = await levelsIn(client, level.folder, level.firstTick, TICKS_PER_L1)
    for (const { firstTick } of folders.toReversed()) {
      const start = await firstFrom(client, level, firstTick)
      if (start !== undefined && start < firstTick + TICKS_PER_L1) return firstTick
    }
  }
  return from
}

/** The first tick of the first batch that begins there or later, in this folder. */
async function firstFrom(client: S3Client, level: Level, tick: number): Promise<number | undefined> {
  for await (const { key } of listObjects(client, level.folder, { after: keyBefore(level, tick), atOnce: 10 })) {
    if (isInPlace(key)) return parseBatchKey(key).tickStart
  }
  return undefined
}

/** A text before the keys of all batches of the folder that begin at the tick or later. */
function keyBefore({ folder, firstTick }: Level, tick: number): string {
  if (tick <= firstTick) return folder
  const l1 = Math.floor((tick - firstTick) / TICKS_PER_L1)
  return `${folder}${String(l1).padStart(3, '0')}/batch_${String(tick).padStart(19, '0')}`
}

/** In the order of ticks; that of names differs from a thousand on. */
async function levelsIn(client: S3Client, parent: string, start: number, ticks: number): Promise<Level[]> {
  const found: Level[] = []
  for await (const name of listFolders(client, parent)) {
    const level = parseLevel(name)
    if (level !== undefined) found.push({ folder: `${parent}${name}/`, firstTick: start + level * ticks })
  }
  return found.sort((a, b) => a.firstTick - b.firstTick)
}
