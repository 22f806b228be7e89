import { CodedError } from 'tidemark'
import { MAX_METADATA_BYTES } from '../contracts/limits.ts'
import { decodeMetadata, encodeMetadata } from '../contracts/metadata-codec.ts'
import type { BatchInfo, MetadataInfo } from '../contracts/notifications.ts'
import type { SimulationMetadata } from '../contracts/tick.ts'
import { type EncodedTick, tickHeadOf } from '../contracts/tick-codec.ts'
import { LimitError } from '../errors.ts'
import { wholeNumber } from '../options.ts'
import { requireRunId } from '../run-id.ts'
import { BatchOrder } from './batch-order.ts'
import { type Footer, isProvenBy } from './container/checksum.ts'
import type { ContainerHeader } from './container/format.ts'
import { ContainerReader, type OpenFile } from './container/read-container.ts'
import { type CompressionSetting, writeContainer } from './container/write-container.ts'
import { ConflictError, CorruptFileError, FileNotFoundError, InvalidBatchError } from './errors.ts'
import { batchKey, type Compression, metadataKey, parseBatchKey } from './keys.ts'
import { SharedReads } from './shared-reads.ts'
import type { BatchRef, QuarantinedFile, StoredBatch, TickBatch } from './storage.ts'

/** The operations on single files in which storages differ. */
export type FilePlace = {
  /** Rejects with a FileNotFoundError if there is none. */
  open(key: string): Promise<OpenFile>
  /** The first of these keys under which there is a file. */
  firstExisting(keys: readonly string[]): Promise<string | undefined>
  /** `sameContent`: the keys under which an earlier attempt may have stored it. */
  create(key: string, sameContent: readonly string[]): Promise<NewFile>
  quarantine(key: string, reason: string): Promise<QuarantinedFile>
  /** What an error that says nothing of the storage means while this key is written. */
  writeError(key: string, error: unknown): Error
}

/** A file being written. Nobody sees it before it is placed. */
export type NewFile = AsyncDisposable & {
  write(chunk: Uint8Array): Promise<void>
  /** Durable and under its key; or the key of a file that is there already, and was not changed. Can be called again. */
  place(): Promise<string | undefined>
}

export type FileSettings = CompressionSetting & {
  readonly maxTickBytes: number
  readonly maxFileBytes: number
  readonly maxBatchBytes: number
  readonly sharedReadBytes: number
}

const COMPRESSIONS: readonly Compression[] = ['zstd', 'none']
/** Each attempt after the first follows a broken file that was moved aside. */
const MOST_PLACINGS = 5

/** Batches and metadata as verified files, wherever those are kept. */
export class StoredFiles {
  readonly #place: FilePlace
  readonly #settings: FileSettings
  readonly #shared: SharedReads | null

  constructor(place: FilePlace, settings: FileSettings) {
    this.#place = place
    this.#settings = settings
    this.#shared = settings.sharedReadBytes === 0 ? null : new SharedReads(settings.sharedReadBytes)
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
    await using file = await this.#place.open(key)
    await using reader = await ContainerReader.open(file, this.#limits())
    expectedOrder(batch, reader.header, file.name)
    const { runId, tickStart, tickEnd, messageCount } = reader.header
    return { runId, storageKey: key, tickStart, tickEnd, tickCount: messageCount, writtenAt: file.writtenAt }
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

  async *#readFile(key: string): AsyncGenerator<EncodedTick, void, undefined> {
    const batch = parseBatchKey(key)
    await using file = await this.#place.open(key)
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

  async #metadata(runId: string): Promise<{ key: string; metadata: SimulationMetadata; writtenAt: number } | null> {
    requireRunId(runId)
    const keys = COMPRESSIONS.map(compression => metadataKey(runId, compression))
    const key = await this.#place.firstExisting(keys)
    if (key === undefined) return null
    await using file = await this.#place.open(key)
    const limits = { maxFileBytes: 2 * MAX_METADATA_BYTES, maxMessageBytes: MAX_METADATA_BYTES }
    await using reader = await ContainerReader.open(file, limits)
    const { header } = reader
    if (header.kind !== 'metadata' || header.runId !== runId || header.messageCount !== 1) {
      throw new CorruptFileError(file.name, `is not the metadata of run ${runId}`)
    }
    let metadata: SimulationMetadata | undefined
    for await (const bytes of reader.messages()) metadata = inOrder(file.name, () => decodeMetadata(bytes))
    if (metadata === undefined) throw new CorruptFileError(file.name, `holds no metadata of run ${runId}`)
    return { key, metadata, writtenAt: file.writtenAt }
  }

  async #store(
    key: string,
    sameContent: readonly string[],
    header: ContainerHeader,
    messages: AsyncIterable<Uint8Array>,
  ): Promise<{ key: string; bytes: number; alreadyStored: boolean }> {
    try {
      await using file = await this.#place.create(key, sameContent)
      const { bytes, contentChecksum } = await writeContainer(header, messages, this.#settings, chunk =>
        file.write(chunk),
      )
      for (let attempt = 1; attempt <= MOST_PLACINGS; attempt++) {
        const before = await file.place()
        if (before === undefined) return { key, bytes, alreadyStored: false }
        if (await this.#holds(before, contentChecksum)) return { key: before, bytes, alreadyStored: true }
      }
      throw new ConflictError(key)
    } catch (error) {
      throw error instanceof CodedError ? error : this.#place.writeError(key, error)
    }
  }

  /** Whether that file has the same content. Other content is a conflict; a corrupt file is replaced. */
  async #holds(key: string, contentChecksum: number): Promise<boolean> {
    let found: Footer
    try {
      await using file = await this.#place.open(key)
      await using reader = await ContainerReader.open(file, this.#limits())
      for await (const _message of reader.messages());
      found = reader.footer
    } catch (error) {
      // Another process has moved it aside meanwhile.
      if (error instanceof FileNotFoundError) return false
      if (!(error instanceof CorruptFileError)) throw error
      await this.#place.quarantine(key, `Found before it was written again: ${error.message}`)
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
