import type { BatchInfo, MetadataInfo } from '../../contracts/notifications.ts'
import type { SimulationMetadata } from '../../contracts/tick.ts'
import type { EncodedTick } from '../../contracts/tick-codec.ts'
import type { TickRange } from '../../databases/ledger-store.ts'
import { LimitError } from '../../errors.ts'
import { wholeNumber } from '../../options.ts'
import { isRunId, requireRunId } from '../../run-id.ts'
import {
  BatchRemovedError,
  FileNotFoundError,
  StorageAccessError,
  StorageError,
  StorageUnsuitableError,
} from '../errors.ts'
import { isBatchKey, parseBatchKey } from '../keys.ts'
import type { ManagedStorage, RunSize } from '../managed-storage.ts'
import { contains } from '../removed-names.ts'
import type {
  BatchQuery,
  BatchRef,
  Page,
  QuarantinedFile,
  RemovedBatches,
  RunQuery,
  StoredBatch,
  TickBatch,
} from '../storage.ts'
import { type FilePlace, type NewFile, StoredFiles } from '../stored-files.ts'
import { listBatches } from './batch-listing.ts'
import { BucketSize } from './bucket-size.ts'
import { S3Client, type S3Metrics } from './client.ts'
import { credentialsFrom } from './credentials.ts'
import { openObject } from './object-file.ts'
import { headOf, listFolders, listObjects, putNew, removeAll } from './objects.ts'
import { placeOf, readS3Options, type S3StorageOptions } from './options.ts'
import { readProfile } from './profile-file.ts'
import { listQuarantined, quarantineObject } from './quarantine.ts'
import { readRemoved, removeBatches } from './removal.ts'

/** Written when a storage is first opened. It is not a run id, so not a run. */
const MARKER = '.tidemark'
const MARKER_CONTENT = Buffer.from('{"format":1,"of":"a storage of Tidemark: batches of a simulation"}\n')

/** Storage in a bucket of an S3-compatible server. */
export class S3Storage implements ManagedStorage {
  readonly #client: S3Client
  readonly #files: StoredFiles
  readonly #size: BucketSize

  /** Opens it after making sure that the server keeps the first of two objects with the same key. */
  static async open(options: S3StorageOptions): Promise<S3Storage> {
    const storage = await S3Storage.#of(options)
    await requireConditionalWrites(storage.#client)
    return storage
  }

  /** Opens a storage that is there, without writing anything; null if there is none. */
  static async openExisting(options: S3StorageOptions): Promise<S3Storage | null> {
    const storage = await S3Storage.#of(options)
    return (await headOf(storage.#client, MARKER)) === undefined ? null : storage
  }

  static async #of(options: S3StorageOptions): Promise<S3Storage> {
    const checked = readS3Options(options)
    const { env } = process
    const region =
      checked.region ?? env.AWS_REGION ?? env.AWS_DEFAULT_REGION ?? (await regionOfProfile(checked.profile))
    const place = placeOf(checked, region, env)
    const client = new S3Client(place, region, credentialsFrom(checked, place.name), checked)
    const size = new BucketSize(client)
    // Always compressed: If-None-Match guards one key, and another compression would be another key.
    const files = new StoredFiles(filesIn(client, size, checked.maxBatchBytes), { ...checked, compression: 'zstd' })
    return new S3Storage(client, files, size)
  }

  private constructor(client: S3Client, files: StoredFiles, size: BucketSize) {
    this.#client = client
    this.#files = files
    this.#size = size
  }

  /** `s3://bucket/prefix`. */
  get name(): string {
    return this.#client.place.name
  }

  /** Rejects if the server, the bucket or the right to read it is missing. */
  async look(): Promise<void> {
    await headOf(this.#client, MARKER)
  }

  /** Requests, retries and bytes since it was opened, and how far the server's clock is ahead. */
  metrics(): S3Metrics {
    return this.#client.metrics
  }

  /** Size of all objects, as of the last listing, with what was stored here since. */
  async size(): Promise<RunSize> {
    return await this.#size.measure()
  }

  async writeBatch(batch: TickBatch): Promise<StoredBatch> {
    return await this.#files.writeBatch(batch)
  }

  readTicks(key: string): AsyncGenerator<EncodedTick, void, undefined> {
    return this.#files.readTicks(key)
  }

  async readBatch(key: string, options?: { readonly maxBytes?: number }): Promise<readonly EncodedTick[]> {
    return await this.#files.readBatch(key, options)
  }

  async describeBatch(key: string): Promise<BatchInfo> {
    return await this.#files.describeBatch(key)
  }

  async listBatches(query: BatchQuery): Promise<Page<BatchRef>> {
    return await listBatches(this.#client, query)
  }

  async listRuns({ after, limit = 1_000 }: RunQuery = {}): Promise<Page<string>> {
    wholeNumber('limit', limit, { min: 1, max: 100_000 })
    const items: string[] = []
    // '0' follows '/': the folder of the last run itself is not listed again.
    for await (const name of listFolders(this.#client, '', after === undefined ? {} : { after: `${after}0` })) {
      if (!isRunId(name)) continue
      if (items.length === limit) return { items, next: items.at(-1) ?? null }
      items.push(name)
    }
    return { items, next: null }
  }

  async writeMetadata(metadata: SimulationMetadata): Promise<MetadataInfo> {
    return await this.#files.writeMetadata(metadata)
  }

  async readMetadata(runId: string): Promise<SimulationMetadata | null> {
    return await this.#files.readMetadata(runId)
  }

  async describeMetadata(runId: string): Promise<MetadataInfo | null> {
    return await this.#files.describeMetadata(runId)
  }

  async quarantine(key: string, reason: string): Promise<QuarantinedFile> {
    return await quarantineObject(this.#client, key, reason)
  }

  async listQuarantined(runId: string): Promise<readonly QuarantinedFile[]> {
    return await listQuarantined(this.#client, requireRunId(runId))
  }

  async writtenAt(key: string): Promise<number | null> {
    return (await headOf(this.#client, parseBatchKey(key).key))?.writtenAt ?? null
  }

  async removeBatches(runId: string, range: TickRange): Promise<RemovedBatches> {
    const removed = await removeBatches(this.#client, requireRunId(runId), range)
    this.#size.add(-removed.batches, -removed.bytes)
    return removed
  }

  async removedRanges(runId: string): Promise<readonly TickRange[]> {
    return await readRemoved(this.#client, requireRunId(runId))
  }

  /** Number and size of a run's objects, including quarantined ones, or null if there are none. */
  async sizeOfRun(runId: string): Promise<RunSize | null> {
    const sum = { files: 0, bytes: 0 }
    for await (const { bytes } of listObjects(this.#client, `${requireRunId(runId)}/`)) {
      sum.files++
      sum.bytes += bytes
    }
    return sum.files === 0 ? null : sum
  }

  /** Removes all objects of a run, including quarantined ones. Returns false if there were none. */
  async removeRun(runId: string): Promise<boolean> {
    const removed = await removeAll(this.#client, listObjects(this.#client, `${requireRunId(runId)}/`))
    this.#size.add(-removed.objects, -removed.bytes)
    return removed.objects > 0
  }
}

/**
 * A server that ignores If-None-Match answers the second time as it did the first, and one that does not know it says so.
 * Whoever may only read needs no such promise.
 */
async function requireConditionalWrites(client: S3Client): Promise<void> {
  const { name, endpoint } = client.place
  const refuse = (problem: string): never => {
    throw new StorageUnsuitableError(name, endpoint.origin, problem)
  }
  const attempt = async (): Promise<number> => {
    const headers = { 'if-none-match': '*' }
    const request = { method: 'PUT', key: MARKER, body: MARKER_CONTENT, headers, understands: [412, 501] } as const
    return (await client.send(request)).status
  }
  try {
    const first = await attempt()
    if (first === 501) refuse('it answers that it does not implement them')
    if (first !== 412 && (await attempt()) !== 412) refuse('it replaces an object that must be kept')
  } catch (error) {
    const mayOnlyRead = error instanceof StorageAccessError && (await headOf(client, MARKER).catch(() => undefined))
    if (!mayOnlyRead) throw error
  }
}

function filesIn(client: S3Client, size: BucketSize, maxBytes: number): FilePlace {
  return {
    open: async key => (await openObject(client, key)) ?? (await missing(client, key)),
    firstExisting: async keys => {
      for (const key of keys) if ((await headOf(client, key)) !== undefined) return key
      return undefined
    },
    create: async key => newObject(client, size, key, maxBytes),
    quarantine: async (key, reason) => await quarantineObject(client, key, reason),
    writeError: (key, error) => new StorageError('Writing', client.nameOf(key), error),
  }
}

/** In memory until it is complete: its length and its checksum are part of the request. */
function newObject(client: S3Client, size: BucketSize, key: string, maxBytes: number): NewFile {
  const chunks: Uint8Array[] = []
  let bytes = 0
  return {
    write: async chunk => {
      bytes += chunk.length
      if (bytes > maxBytes) throw new LimitError(`Bytes of ${client.nameOf(key)}`, 'maxBatchBytes', bytes, maxBytes)
      chunks.push(Buffer.from(chunk))
    },
    place: async () => {
      if (!(await putNew(client, key, Buffer.concat(chunks)))) return key
      size.add(1, bytes)
      return undefined
    },
    [Symbol.asyncDispose]: async () => {},
  }
}

/** Removed, or never stored. */
async function missing(client: S3Client, key: string): Promise<never> {
  const name = client.nameOf(key)
  if (isBatchKey(key)) {
    const batch = parseBatchKey(key)
    const removed = await readRemoved(client, batch.runId)
    if (removed.some(range => contains(range, batch))) throw new BatchRemovedError(name)
  }
  throw new FileNotFoundError(name)
}

async function regionOfProfile(profile = process.env.AWS_PROFILE ?? 'default'): Promise<string> {
  // A file that can't be read is reported with the credentials.
  const { region } = await readProfile(profile, process.env).catch(() => ({ region: undefined }))
  return region ?? 'us-east-1'
}
