import { StorageError } from '../errors.ts'
import { readListing, type StoredObject } from './answers.ts'
import type { S3Client } from './client.ts'

export type ListOptions = {
  /** Only keys that come after this text. */
  readonly after?: string
  /** For a look at the first ones. */
  readonly atOnce?: number
}

export type Head = { readonly etag: string; readonly size: number; readonly writtenAt: number }

const KEYS_AT_ONCE = 1_000
const MISSING = 404

/** Objects whose key begins with the prefix, in the order of their keys, which is that of bytes. */
export async function* listObjects(
  client: S3Client,
  prefix: string,
  options: ListOptions = {},
): AsyncGenerator<StoredObject, void, undefined> {
  for await (const { objects } of pages(client, prefix, options)) yield* objects
}

/** The next parts of the keys after the prefix, up to a '/': what would be folders. */
export async function* listFolders(
  client: S3Client,
  prefix: string,
  options: ListOptions = {},
): AsyncGenerator<string, void, undefined> {
  for await (const { folders } of pages(client, prefix, options, { delimiter: '/' })) yield* folders
}

async function* pages(
  client: S3Client,
  prefix: string,
  { after, atOnce = KEYS_AT_ONCE }: ListOptions,
  more: Readonly<Record<string, string>> = {},
) {
  const own = client.place.prefix
  const strip = (key: string): string => key.slice(own.length)
  for (let token: string | undefined, isFirst = true; isFirst || token !== undefined; isFirst = false) {
    const { body } = await client.send({
      method: 'GET',
      query: {
        'list-type': '2',
        'encoding-type': 'url',
        'max-keys': String(atOnce),
        prefix: own + prefix,
        ...more,
        ...(token !== undefined
          ? { 'continuation-token': token }
          : after !== undefined && { 'start-after': own + after }),
      },
    })
    const listing = readListing(body.toString())
    if (listing === undefined)
      throw new StorageError('Listing', client.place.name, new Error('the answer is no listing, or only a part of one'))
    yield {
      objects: listing.objects.map(({ key, bytes }) => ({ key: strip(key), bytes })),
      folders: listing.folders.map(folder => strip(folder).slice(prefix.length, -1)),
    }
    token = listing.next
  }
}

/** Facts of an object, or undefined if there is none. Of its content, only one byte is fetched: errors of a HEAD have no text. */
export async function headOf(client: S3Client, key: string): Promise<Head | undefined> {
  // 416: an empty object has no first byte.
  const answer = await client.send({ method: 'GET', key, headers: { range: 'bytes=0-0' }, understands: [MISSING, 416] })
  if (answer.status === MISSING) return undefined
  if (answer.status === 416) return await emptyHead(client, key)
  return {
    etag: etagOf(answer.headers),
    size: sizeOf(answer.headers, answer.body.length),
    writtenAt: timeOf(answer.headers),
  }
}

/** The answer to an impossible range does not say when the object was written. */
async function emptyHead(client: S3Client, key: string): Promise<Head | undefined> {
  const { status, headers, body } = await client.send({ method: 'GET', key, understands: [MISSING] })
  return status === MISSING ? undefined : { etag: etagOf(headers), size: body.length, writtenAt: timeOf(headers) }
}

export const etagOf = (headers: Headers): string => headers.get('etag') ?? ''
export const timeOf = (headers: Headers): number => Date.parse(headers.get('last-modified') ?? '') || 0

/** Of the whole object: `bytes 0-0/1234`, or the body if the server ignores ranges. */
export const sizeOf = (headers: Headers, received: number): number =>
  Number(/\/(\d+)$/.exec(headers.get('content-range') ?? '')?.[1] ?? received)

/** Written only if there is none: false otherwise. */
export async function putNew(client: S3Client, key: string, body: Uint8Array): Promise<boolean> {
  const headers = { 'if-none-match': '*' }
  return (await client.send({ method: 'PUT', key, body, headers, understands: [412] })).status !== 412
}

export async function remove(
  client: S3Client,
  key: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<void> {
  await client.send({ method: 'DELETE', key, headers, understands: [MISSING, 412] })
}

const DELETIONS_AT_ONCE = 16

/** Removes objects as they are listed, several at a time. Returns their number and size. */
export async function removeAll(
  client: S3Client,
  objects: AsyncIterable<StoredObject>,
): Promise<{ objects: number; bytes: number }> {
  const sum = { objects: 0, bytes: 0 }
  const running = new Set<Promise<void>>()
  for await (const { key, bytes } of objects) {
    if (running.size >= DELETIONS_AT_ONCE) await Promise.race(running)
    const removing: Promise<void> = remove(client, key).finally(() => running.delete(removing))
    removing.catch(() => undefined) // Awaited below or by the race.
    running.add(removing)
    sum.objects++
    sum.bytes += bytes
  }
  await Promise.all(running)
  return sum
}
