import { CodedError } from 'tidemark'
import { type EncodedTick, tickHeadOf } from '../../contracts/tick-codec.ts'
import { BatchOrder } from '../batch-order.ts'
import type { ContainerHeader } from '../container/format.ts'
import { ContainerReader, type OpenFile } from '../container/read-container.ts'
import { CorruptFileError, FileNotFoundError, StorageError } from '../errors.ts'
import { isMissing } from './missing.ts'
import { openFile } from './open-file.ts'
import { readOptions } from './options.ts'

/** A batch file in any folder: a storage, the quarantine, or a copy. It is verified before it is opened. */
export class BatchFile implements AsyncDisposable {
  /** Path of the file. */
  readonly path: string
  /** Id of the run. */
  readonly runId: string
  /** First tick. */
  readonly tickStart: number
  /** Last tick. */
  readonly tickEnd: number
  /** Number of ticks. */
  readonly tickCount: number
  /** Size on disk. */
  readonly bytes: number
  readonly #file: OpenFile
  readonly #reader: ContainerReader

  static async open(path: string): Promise<BatchFile> {
    const file = await openFile(path).catch(error => {
      throw isMissing(error) ? new FileNotFoundError(path) : new StorageError('Opening', path, error)
    })
    try {
      const { maxFileBytes, maxTickBytes } = readOptions({ root: path })
      const reader = await ContainerReader.open(file, { maxFileBytes, maxMessageBytes: maxTickBytes })
      if (reader.header.kind !== 'batch') throw new CorruptFileError(path, 'holds metadata, not ticks')
      return new BatchFile(path, file, reader, reader.header)
    } catch (error) {
      await file[Symbol.asyncDispose]()
      throw error instanceof CodedError ? error : new StorageError('Reading', path, error)
    }
  }

  private constructor(path: string, file: OpenFile, reader: ContainerReader, said: ContainerHeader) {
    this.path = path
    this.bytes = file.size
    this.runId = said.runId
    this.tickStart = said.tickStart
    this.tickEnd = said.tickEnd
    this.tickCount = said.messageCount
    this.#file = file
    this.#reader = reader
  }

  /** Ticks, one at a time, once. A loop that ends without an error has read the whole batch. */
  async *ticks(): AsyncGenerator<EncodedTick, void, undefined> {
    const order = this.#checked(() => new BatchOrder(this))
    for await (const bytes of this.#reader.messages()) {
      const { runId, tick } = this.#checked(() => tickHeadOf(bytes))
      this.#checked(() => order.next({ runId, tick }))
      yield { runId, tick, bytes }
    }
    this.#checked(() => order.end())
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#reader[Symbol.asyncDispose]()
    await this.#file[Symbol.asyncDispose]()
  }

  /** Ticks that contradict the header make the file corrupt, whatever its checksums say. */
  #checked<T>(check: () => T): T {
    try {
      return check()
    } catch (error) {
      throw new CorruptFileError(this.path, 'holds ticks that do not match its header', error)
    }
  }
}
