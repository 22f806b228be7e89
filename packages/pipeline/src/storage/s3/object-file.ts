import type { OpenFile } from '../container/read-container.ts'
import { CorruptFileError, StorageError } from '../errors.ts'
import type { S3Client } from './client.ts'
import { etagOf, sizeOf, timeOf } from './objects.ts'

/** Most batches are smaller, so that one request fetches them. Of a larger one, so much is in memory. */
const RANGE_BYTES = 8 * 1024 * 1024

type Window = { readonly start: number; readonly bytes: Buffer }

/** An object read in ranges, all of the same version. undefined if there is none. */
export async function openObject(client: S3Client, key: string): Promise<OpenFile | undefined> {
  const name = client.nameOf(key)
  const first = await client.send({
    method: 'GET',
    key,
    headers: { range: `bytes=0-${RANGE_BYTES - 1}` },
    understands: [404, 416],
    expectedBytes: RANGE_BYTES,
  })
  if (first.status === 404) return undefined
  if (first.status === 416) throw new CorruptFileError(name, 'is empty')
  const size = sizeOf(first.headers, first.body.length)
  const etag = etagOf(first.headers)
  let window: Window = { start: 0, bytes: first.body }

  const fetchAt = async (start: number): Promise<Window> => {
    const end = Math.min(size, start + RANGE_BYTES) - 1
    const headers = { range: `bytes=${start}-${end}`, 'if-match': etag }
    const answer = await client.send({
      method: 'GET',
      key,
      headers,
      understands: [404, 412],
      expectedBytes: end - start,
    })
    if (answer.status === 206 && answer.body.length === end - start + 1) return { start, bytes: answer.body }
    throw new StorageError('Reading', name, new Error('it was replaced or removed while it was read'))
  }

  return {
    name,
    size,
    writtenAt: timeOf(first.headers),
    read: async (into, position) => {
      let filled = 0
      while (filled < into.length && position + filled < size) {
        const at = position + filled
        const { start, bytes } = window
        if (at < start || at >= start + bytes.length) {
          window = await fetchAt(at)
          continue
        }
        const piece = bytes.subarray(at - start, at - start + into.length - filled)
        into.set(piece, filled)
        filled += piece.length
      }
      return filled
    },
    [Symbol.asyncDispose]: async () => {},
  }
}
