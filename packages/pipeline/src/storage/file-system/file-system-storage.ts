import { readdir, rm } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { CodedError } from 'tidemark'
import type { BatchInfo, MetadataInfo } from '../../contracts/notifications.ts'
import type { SimulationMetadata } from '../../contracts/tick.ts'
import type { EncodedTick } from '../../contracts/tick-codec.ts'
import type { TickRange } from '../../databases/ledger-store.ts'
import { wholeNumber } from '../../options.ts'
import { isRunId, requireRunId } from '../../run-id.ts'
import type { OpenFile } from '../container/read-container.ts'
import { BatchRemovedError, FileNotFoundError, StorageError } from '../errors.ts'
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
import { IncomingFile, removeStaleFiles, syncFolder, writeError } from './durable-file.ts'
import { isMissing } from './missing.ts'
import { openFile } from './open-file.ts'
import { type FileSystemStorageOptions, readOptions, type StorageSettings } from './options.ts'
import { listQuarantined, quarantineFile } from './quarantine.ts'
import { mtimeOf, removeBatchFiles } from './remove-batches.ts'
import { readRemoved, recordRemoved } from './removed-ranges.ts'
import { sizeOf } from './run-size.ts'
import { SafePaths } from './safe-paths.ts'

/** Storage in a folder. */
export class FileSystemStorage implements ManagedStorage {
  readonly #paths: SafePaths
  readonly #files: StoredFiles

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
    this.#files = new StoredFiles(filesIn(paths), settings)
  }

  /** Path of its folder. */
  get name(): string {
    return this.#paths.root
  }

  /** Rejects if the folder is missing. */
  async look(): Promise<void> {
    await this.#paths.requireRoot()
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
    return await this.#files.writeMetadata(metadata)
  }

  async readMetadata(runId: string): Promise<SimulationMetadata | null> {
    return await this.#files.readMetadata(runId)
  }

  async describeMetadata(runId: string): Promise<MetadataInfo | null> {
    return await this.#files.describeMetadata(runId)
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
}

function filesIn(paths: SafePaths): FilePlace {
  return {
    open: async key => await openIn(paths, key),
    firstExisting: async keys => await firstExisting(paths, keys),
    create: async (key, sameContent) => await create(paths, key, sameContent),
    quarantine: async (key, reason) => await quarantineFile(paths, key, reason),
    writeError,
  }
}

async function create(paths: SafePaths, key: string, sameContent: readonly string[]): Promise<NewFile> {
  const folder = await paths.makeFolder(dirname(key))
  const file = await IncomingFile.create(paths.incoming, key)
  return {
    write: async chunk => await file.write(chunk),
    place: async () => {
      const before = await firstExisting(paths, sameContent)
      if (before === undefined) await file.place(folder, basename(key))
      return before
    },
    [Symbol.asyncDispose]: async () => await file[Symbol.asyncDispose](),
  }
}

async function firstExisting(paths: SafePaths, keys: readonly string[]): Promise<string | undefined> {
  for (const key of keys) if ((await paths.existing(key)) !== undefined) return key
  return undefined
}

async function openIn(paths: SafePaths, key: string): Promise<OpenFile> {
  const path = await paths.existing(key)
  if (path === undefined) throw await missing(paths, key)
  try {
    return await openFile(path)
  } catch (error) {
    if (!isMissing(error)) throw new StorageError('Opening', path, error)
    await paths.requireRoot()
    throw await missing(paths, key)
  }
}

/** Removed, or never stored. */
async function missing(paths: SafePaths, key: string): Promise<FileNotFoundError> {
  if (!isBatchKey(key)) return new FileNotFoundError(key)
  const batch = parseBatchKey(key)
  const removed = await readRemoved(paths, batch.runId)
  return removed.some(range => contains(range, batch)) ? new BatchRemovedError(key) : new FileNotFoundError(key)
}
