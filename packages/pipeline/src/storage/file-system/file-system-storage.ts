import { type FileHandle, open, readdir, rm } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { CodedError } from 'tidemark'
import { MAX_METADATA_BYTES } from '../../contracts/limits.ts'
import { decodeMetadata, encodeMetadata } from '../../contracts/metadata-codec.ts'
import type { BatchInfo, MetadataInfo } from '../../contracts/notifications.ts'
import type { SimulationMetadata } from '../../contracts/tick.ts'
import { type EncodedTick, tickHeadOf } from '../../contracts/tick-codec.ts'
import type { TickRange } from '../../databases/ledger-store.ts'
import { LimitError } from '../../errors.ts'
import { wholeNumber } from '../../options.ts'
import { isRunId, requireRunId } from '../../run-id.ts'
import { BatchOrder } from '../batch-order.ts'
import { type Footer, isProvenBy } from '../container/checksum.ts'
import type { ContainerHeader } from '../container/format.ts'
import { ContainerReader } from '../container/read-container.ts'
import { writeContainer } from '../container/write-container.ts'
import {
  BatchRemovedError,
  ConflictError,
  CorruptFileError,
  FileNotFoundError,
  InvalidBatchError,
  StorageError,
} from '../errors.ts'
import { batchKey, type Compression, isBatchKey, metadataKey, parseBatchKey } from '../keys.ts'
import { SharedReads } from '../shared-reads.ts'
import type {
  BatchQuery,
  BatchRef,
  Page,
  QuarantinedFile,
  RemovedBatches,
  RunQuery,
  Storage,
  StoredBatch,
  TickBatch,
} from '../storage.ts'
import { listBatches } from './batch-listing.ts'
import { IncomingFile, removeStaleFiles, syncFolder, writeError } from './durable-file.ts'
import { isMissing } from './missing.ts'
import { type FileSystemStorageOptions, readOptions, type StorageSettings } from './options.ts'
import { listQuarantined, quarantineFile } from './quarantine.ts'
import { mtimeOf, removeBatchFiles } from './remove-batches.ts'
import { contains, readRemoved, recordRemoved } from './removed-ranges.ts'
import { type RunSize, sizeOf } from './run-size.ts'
import { SafePaths } from './safe-paths.ts'

const COMPRESSIONS: readonly Compression[] = ['zstd', 'none']

/** Storage in a folder. */
export class FileSystemStorage implements Storage {
  readonly #paths: SafePaths
  readonly #settings: StorageSettings
  readonly #shared: SharedReads | null

  static async open(options: FileSystemStorageOptions): Promise<FileSystemStorage> {
    const settings = readOptions(options)
    try {
      const paths = await SafePaths.open(settings.root)
      await removeStaleFiles(paths.incoming)
      return new FileSystemStorage(paths, settings)
    } catch (error) {
      throw writeError(settings.root, error)
    }
  }

  private constructor(paths: SafePaths, settings: StorageSettings) {
    this.#paths = paths
    this.#settings = settings
    this.#shared = settings.sharedReadBytes === 0 ? null : new SharedReads(settings.sharedReadBytes)
  }

  /** Rejects if the folder is missing. */
  async look(): Promise<void> {
    await this.#paths.requireRoot()
  }

  async writeBatch(batch: TickBatch): Promise<StoredBatch> {
    const { runId, tickStart, tickEnd, tickCount } = batch
    const order = new BatchOrder(batch)
    const header = { kind: 'batch', runId, tickStart, tickEnd, messageCount: tickCount } as const
    const keys = COMPRESSIONS.map(compression => batchKey(runId, tickStart, tickEnd, compression))
    const key = batchKey(runId, tickStart, tickEnd, this.#settings.compression)
    const stored = await this.#store(key, keys, header, this.#checked(batch.ticks, order))
    const info = { runId, storageKey: stored.key, tickStart, tickEnd, tickCount, writtenAt: Date.now() }
    return { ...info, bytes: stored.bytes, alreadyStored: stored.alreadyStored }
  }

  readTicks(key: string): AsyncGenerator<EncodedTick, void, undefined> {
    return this.#shared === null ? this.#readFile(key) : this.#shared.read(key, () => this.#readFile(key))
  }

  async *#readFile(key: string): AsyncGenerator<EncodedTick, void, undefined> {
    const batch = parseBatchKey(key)
    await using file = await this.#open(key)
    await using reader = await ContainerReader.open(file, this.#limits())
    const order = expectedOrder(batch, reader.header, file.name)
    for await (const bytes of reader.messages()) {
      yield inOrder(file.name, () => {
        const { runId, tick } = tickHeadOf(bytes)
        order.next({ runId, tick })
        if (tick > batch.tickEnd) throw new InvalidBatchError(`tick ${tick} is after ${batch.tickEnd}`)
        return { runId, tick, bytes }
      })
    }
    inOrder(file.name, () => order.end())
  }

  async readBatch(key: string, { maxBytes = this.#settings.maxBatchBytes } = {}): Promise<readonly EncodedTick[]> {
    wholeNumber('maxBytes', maxBytes, { min: 1 })
    const ticks: EncodedTick[] = []
    let bytes = 0
    for await (const tick of this.readTicks(key)) {
      bytes += tick.bytes.length
      if (bytes > maxBytes) throw new LimitError(`Bytes of the ticks of ${key}`, 'maxBytes', bytes, maxBytes)
      ticks.push(tick)
    }
    return ticks
  }

  async describeBatch(key: string): Promise<BatchInfo> {
    const batch = parseBatchKey(key)
    await using file = await this.#open(key)
    await using reader = await ContainerReader.open(file, this.#limits())
    expectedOrder(batch, reader.header, file.name)
    const { runId, tickStart, tickEnd, messageCount } = reader.header
    const { mtimeMs } = await file.handle.stat()
    return { runId, storageKey: key, tickStart, tickEnd, tickCount: messageCount, writtenAt: Math.floor(mtimeMs) }
  }

  /** Number and size of a run's files, including quarantined ones, or null if there are none. */
  async sizeOfRun(runId: string): Promise<RunSize | null> {
    const folder = await this.#paths.existing(requireRunId(runId))
    return folder === undefined ? null : await sizeOf(folder)
  }

  /** Removes all files of a run, including quarantined ones. Returns false if there were none. */
  async removeRun(runId: string): Promise<boolean> {
    const folder = await this.#paths.existing(requireRunId(runId))
    if (folder === undefined) return false
    try {
      await rm(folder, { recursive: true, force: true })
      await syncFolder(this.#paths.root)
      return true
    } catch (error) {
      throw new StorageError('Removing the files of run', runId, error)
    }
  }

  async listBatches(query: BatchQuery): Promise<Page<BatchRef>> {
    return await listBatches(this.#paths, query)
  }

  async listRuns({ after = '', limit = 1_000 }: RunQuery = {}): Promise<Page<string>> {
    wholeNumber('limit', limit, { min: 1, max: 100_000 })
    const names = await this.#namesInRoot()
    const runs = names.filter(name => name > after && isRunId(name)).sort()
    const items = runs.slice(0, limit)
    return { items, next: runs.length > limit ? (items.at(-1) ?? null) : null }
  }

  async writeMetadata(metadata: SimulationMetadata): Promise<MetadataInfo> {
    const { runId } = metadata
    const bytes = encodeMetadata(metadata)
    const header = { kind: 'metadata', runId, tickStart: 0, tickEnd: 0, messageCount: 1 } as const
    const keys = COMPRESSIONS.map(compression => metadataKey(runId, compression))
    const stored = await this.#store(metadataKey(runId, this.#settings.compression), keys, header, only(bytes))
    return { runId, storageKey: stored.key, writtenAt: Date.now() }
  }

  async readMetadata(runId: string): Promise<SimulationMetadata | null> {
    return (await this.#metadata(runId))?.metadata ?? null
  }

  async describeMetadata(runId: string): Promise<MetadataInfo | null> {
    const found = await this.#metadata(runId)
    return found && { runId, storageKey: found.key, writtenAt: found.writtenAt }
  }

  async quarantine(key: string, reason: string): Promise<QuarantinedFile> {
    return await quarantineFile(this.#paths, key, reason)
  }

  async listQuarantined(runId: string): Promise<readonly QuarantinedFile[]> {
    return await listQuarantined(this.#paths, requireRunId(runId))
  }

  async writtenAt(key: string): Promise<number | null> {
    const path = await this.#paths.existing(parseBatchKey(key).key)
    return path === undefined ? null : await mtimeOf(path)
  }

  async removedRanges(runId: string): Promise<readonly TickRange[]> {
    return await readRemoved(this.#paths, requireRunId(runId))
  }

  async removeBatches(runId: string, range: TickRange): Promise<RemovedBatches> {
    requireRunId(runId)
    try {
      await recordRemoved(this.#paths, runId, range)
      return await removeBatchFiles(this.#paths, runId, range)
    } catch (error) {
      throw error instanceof CodedError ? error : new StorageError('Removing batches of', runId, error)
    }
  }

  async #namesInRoot(): Promise<string[]> {
    await this.#paths.requireRoot()
    try {
      return await readdir(this.#paths.root)
    } catch (error) {
      throw new StorageError('Listing', this.#paths.root, error)
    }
  }

  async #metadata(runId: string): Promise<{ key: string; metadata: SimulationMetadata; writtenAt: number } | null> {
    requireRunId(runId)
    const key = await this.#firstExisting(COMPRESSIONS.map(compression => metadataKey(runId, compression)))
    if (key === undefined) return null
    await using file = await this.#open(key)
    const limits = { maxFileBytes: 2 * MAX_METADATA_BYTES, maxMessageBytes: MAX_METADATA_BYTES }
    await using reader = await ContainerReader.open(file, limits)
    const { header } = reader
    if (header.kind !== 'metadata' || header.runId !== runId || header.messageCount !== 1) {
      throw new CorruptFileError(file.name, `is not the metadata of run ${runId}`)
    }
    let metadata: SimulationMetadata | undefined
    for await (const bytes of reader.messages()) metadata = inOrder(file.name, () => decodeMetadata(bytes))
    if (metadata === undefined) throw new CorruptFileError(file.name, `holds no metadata of run ${runId}`)
    const { mtimeMs } = await file.handle.stat()
    return { key, metadata, writtenAt: Math.floor(mtimeMs) }
  }

  /** `sameContent`: the keys under which an earlier attempt may have stored it. */
  async #store(
    key: string,
    sameContent: readonly string[],
    header: ContainerHeader,
    messages: AsyncIterable<Uint8Array>,
  ): Promise<{ key: string; bytes: number; alreadyStored: boolean }> {
    try {
      const folder = await this.#paths.makeFolder(dirname(key))
      await using file = await IncomingFile.create(this.#paths.incoming, key)
      const written = await writeContainer(header, messages, this.#settings, chunk => file.write(chunk))
      const before = await this.#firstExisting(sameContent)
      if (before !== undefined && (await this.#holds(before, written.contentChecksum))) {
        return { key: before, bytes: written.bytes, alreadyStored: true }
      }
      await file.place(folder, basename(key))
      return { key, bytes: written.bytes, alreadyStored: false }
    } catch (error) {
      throw writeError(key, error)
    }
  }

  /** Whether that file has the same content. Other content is a conflict; a corrupt file is replaced. */
  async #holds(key: string, contentChecksum: number): Promise<boolean> {
    let found: Footer
    try {
      await using file = await this.#open(key)
      await using reader = await ContainerReader.open(file, this.#limits())
      for await (const _message of reader.messages());
      found = reader.footer
    } catch (error) {
      if (!(error instanceof CorruptFileError)) throw error
      await this.quarantine(key, `Found before it was written again: ${error.message}`)
      return false
    }
    // Header and count are part of the content.
    if (isProvenBy(found, contentChecksum)) return true
    throw new ConflictError(key)
  }

  async *#checked(
    ticks: Iterable<EncodedTick> | AsyncIterable<EncodedTick>,
    order: BatchOrder,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    const { maxTickBytes } = this.#settings
    for await (const { bytes, ...said } of ticks) {
      const { runId, tick } = tickHeadOf(bytes)
      if (runId !== said.runId || tick !== said.tick) {
        throw new InvalidBatchError(
          `tick ${said.tick} of run ${said.runId} contains the bytes of tick ${tick} of run ${runId}`,
        )
      }
      if (bytes.length > maxTickBytes)
        throw new LimitError(`Bytes of tick ${tick}`, 'maxTickBytes', bytes.length, maxTickBytes)
      order.next({ runId, tick })
      yield bytes
    }
    order.end()
  }

  #limits(): { maxFileBytes: number; maxMessageBytes: number } {
    return { maxFileBytes: this.#settings.maxFileBytes, maxMessageBytes: this.#settings.maxTickBytes }
  }

  async #firstExisting(keys: readonly string[]): Promise<string | undefined> {
    for (const key of keys) if ((await this.#paths.existing(key)) !== undefined) return key
    return undefined
  }

  async #open(key: string): Promise<{ handle: FileHandle; name: string } & AsyncDisposable> {
    const path = await this.#paths.existing(key)
    if (path === undefined) throw await this.#missing(key)
    try {
      const handle = await open(path, 'r')
      return { handle, name: path, [Symbol.asyncDispose]: () => handle.close() }
    } catch (error) {
      if (!isMissing(error)) throw new StorageError('Opening', path, error)
      await this.#paths.requireRoot()
      throw await this.#missing(key)
    }
  }

  /** Removed, or never stored. */
  async #missing(key: string): Promise<FileNotFoundError> {
    if (!isBatchKey(key)) return new FileNotFoundError(key)
    const batch = parseBatchKey(key)
    const removed = await readRemoved(this.#paths, batch.runId)
    return removed.some(range => contains(range, batch)) ? new BatchRemovedError(key) : new FileNotFoundError(key)
  }
}

function expectedOrder(batch: BatchRef, header: ContainerHeader, file: string): BatchOrder {
  const { kind, runId, tickStart, tickEnd, messageCount } = header
  if (kind !== 'batch' || runId !== batch.runId || tickStart !== batch.tickStart || tickEnd !== batch.tickEnd) {
    const found = `${kind} of run ${runId}, ticks ${tickStart} to ${tickEnd}`
    throw new CorruptFileError(file, `holds another file's content (${found})`)
  }
  return inOrder(file, () => new BatchOrder({ runId, tickStart, tickEnd, tickCount: messageCount }))
}

/** Ticks that contradict the header make the file corrupt, whatever its checksums say. */
function inOrder<T>(file: string, check: () => T): T {
  try {
    return check()
  } catch (error) {
    if (error instanceof LimitError) throw error
    throw new CorruptFileError(file, 'holds ticks that do not match its header', error)
  }
}

async function* only(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
  yield bytes
}
