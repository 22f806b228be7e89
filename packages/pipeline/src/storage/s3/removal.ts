import type { TickRange } from '../../databases/ledger-store.ts'
import { isInPlace } from '../batch-query.ts'
import { parseBatchKey } from '../keys.ts'
import { contains, merged, removedFolder, removedName, removedRange } from '../removed-names.ts'
import type { RemovedBatches } from '../storage.ts'
import type { StoredObject } from './answers.ts'
import { batchObjects } from './batch-listing.ts'
import type { S3Client } from './client.ts'
import { listObjects, putNew, remove, removeAll } from './objects.ts'

/** Ascending; overlapping ranges are merged. */
export async function readRemoved(client: S3Client, runId: string): Promise<TickRange[]> {
  return merged(await storedRanges(client, runId))
}

/** Recorded first, as in a folder (`removed-names.ts`). */
export async function removeBatches(client: S3Client, runId: string, range: TickRange): Promise<RemovedBatches> {
  const known = await storedRanges(client, runId)
  if (!known.some(each => contains(each, range))) {
    await putNew(client, `${removedFolder(runId)}/${removedName(range)}`, new Uint8Array(0))
    for (const each of known) {
      const isNarrower = contains(range, each) && removedName(each) !== removedName(range)
      if (isNarrower) await remove(client, `${removedFolder(runId)}/${removedName(each)}`)
    }
  }
  const { objects, bytes } = await removeAll(client, within(batchObjects(client, runId, range), range))
  return { batches: objects, bytes }
}

async function* within(objects: AsyncIterable<StoredObject>, range: TickRange): AsyncGenerator<StoredObject> {
  for await (const object of objects)
    if (isInPlace(object.key) && contains(range, parseBatchKey(object.key))) yield object
}

async function storedRanges(client: S3Client, runId: string): Promise<TickRange[]> {
  const folder = `${removedFolder(runId)}/`
  const found: TickRange[] = []
  for await (const { key } of listObjects(client, folder)) found.push(...removedRange(key.slice(folder.length)))
  return found
}
