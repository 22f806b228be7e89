import { pipeline, Readable } from 'node:stream'
import { constants, createZstdDecompress } from 'node:zlib'
import { CodedError } from 'tidemark'
import { LimitError } from '../../errors.ts'
import { CorruptFileError, isSystemError, StorageError } from '../errors.ts'
import { ByteSource, EndOfContent, TooMuchContent } from './byte-source.ts'
import { checksumOf, decodeFooter, decodeSeal, FOOTER_BYTES, type Footer, isProvenBy, SEAL_BYTES } from './checksum.ts'
import { type ContainerHeader, decodeHeader, MAX_HEADER_BYTES, recognise } from './format.ts'
import { oneAhead } from './one-ahead.ts'

const READ_BYTES = 1024 * 1024
/** Level 19, the highest that is written, needs a window of 2^23; a file that requires more is not ours. */
const LARGEST_WINDOW_LOG = 23

export type ReadLimits = { readonly maxFileBytes: number; readonly maxMessageBytes: number }

/** A file that is open for reading, wherever it is. */
export type OpenFile = AsyncDisposable & {
  /** Name in errors. */
  readonly name: string
  /** Size in bytes. */
  readonly size: number
  /** Time at which it was stored in milliseconds since 1970, by the storage's clock. */
  readonly writtenAt: number
  /** Fills the buffer from a position on, with less only at the end of the file. Returns the number of bytes. */
  read(into: Uint8Array, position: number): Promise<number>
}

/**
 * Reads a file after verifying it completely. `header` is available at once; then one message at a time is in memory;
 * the last one is returned only after the footer has confirmed all of them.
 */
export class ContainerReader implements AsyncDisposable {
  readonly header: ContainerHeader
  readonly #file: OpenFile
  readonly #source: ByteSource
  readonly #limits: ReadLimits
  #footer: Footer | undefined

  static async open(file: OpenFile, limits: ReadLimits): Promise<ContainerReader> {
    const { size } = file
    const compression = recognise(await readAt(file, 0, Math.min(size, 6)))
    if (compression === undefined) throw new CorruptFileError(file.name, 'is not a file of this storage')
    await (compression === 'zstd' ? verifySealed(file) : verifyPlain(file))
    const contentEnd = compression === 'zstd' ? size - SEAL_BYTES : size
    const bytes = readRange(file, contentEnd)
    const source = new ByteSource(compression === 'zstd' ? decompress(bytes) : bytes, limits.maxFileBytes)
    try {
      return new ContainerReader(file, source, limits, await readHeader(file, source))
    } catch (error) {
      await source.close()
      throw named(file, error, limits)
    }
  }

  private constructor(file: OpenFile, source: ByteSource, limits: ReadLimits, header: ContainerHeader) {
    this.header = header
    this.#file = file
    this.#source = source
    this.#limits = limits
  }

  async *messages(): AsyncGenerator<Uint8Array, void, undefined> {
    const { messageCount } = this.header
    for (let number = 1; number <= messageCount; number++) {
      const message = await this.#named(() => this.#message(number))
      if (number === messageCount) this.#footer = await this.#named(() => this.#verifyEnd())
      yield message
    }
  }

  /** Footer of the content, once all messages have been read. */
  get footer(): Footer {
    if (this.#footer === undefined) throw new Error('The footer is available once the last message has been read')
    return this.#footer
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#source.close()
  }

  async #message(number: number): Promise<Uint8Array> {
    const length = await this.#source.length()
    if (length === undefined) throw new CorruptFileError(this.#file.name, `has no length before message ${number}`)
    const { maxMessageBytes } = this.#limits
    if (length > maxMessageBytes) {
      throw new LimitError(`Bytes of message ${number} of ${this.#file.name}`, 'maxTickBytes', length, maxMessageBytes)
    }
    return await this.#source.view(length)
  }

  async #verifyEnd(): Promise<Footer> {
    const { checksum } = this.#source
    const footer = decodeFooter(await this.#source.take(FOOTER_BYTES))
    const { name } = this.#file
    if (footer === undefined) throw new CorruptFileError(name, 'does not end in a footer')
    if (footer.messageCount !== this.header.messageCount) {
      throw new CorruptFileError(
        name,
        `has a header for ${this.header.messageCount} messages but a footer for ${footer.messageCount}`,
      )
    }
    if (!isProvenBy(footer, checksum)) throw new CorruptFileError(name, 'does not match its checksum')
    if (!(await this.#source.isAtEnd())) throw new CorruptFileError(name, 'has data after its footer')
    return footer
  }

  async #named<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      throw named(this.#file, error, this.#limits)
    }
  }
}

async function readHeader(file: OpenFile, source: ByteSource): Promise<ContainerHeader> {
  const length = await source.length()
  if (length === undefined || length > MAX_HEADER_BYTES) throw new CorruptFileError(file.name, 'has no header')
  const header = decodeHeader(await source.take(length))
  if (typeof header === 'string') throw new CorruptFileError(file.name, header)
  if (header.messageCount < 1) throw new CorruptFileError(file.name, 'has no messages')
  return header
}

async function verifySealed(file: OpenFile): Promise<void> {
  const { name, size } = file
  const seal = decodeSeal(await readAt(file, Math.max(0, size - SEAL_BYTES), Math.min(size, SEAL_BYTES)))
  if (seal === undefined) throw new CorruptFileError(name, 'is truncated: it does not end with a seal')
  if (seal !== (await checksumOfRange(file, size - SEAL_BYTES))) {
    throw new CorruptFileError(name, 'was modified: its bytes do not match its seal')
  }
}

async function verifyPlain(file: OpenFile): Promise<void> {
  const { name, size } = file
  const footer = decodeFooter(await readAt(file, Math.max(0, size - FOOTER_BYTES), Math.min(size, FOOTER_BYTES)))
  if (footer === undefined) throw new CorruptFileError(name, 'is truncated: it does not end with a footer')
  if (!isProvenBy(footer, await checksumOfRange(file, size - FOOTER_BYTES))) {
    throw new CorruptFileError(name, 'was modified: its content does not match its checksum')
  }
}

async function checksumOfRange(file: OpenFile, end: number): Promise<number> {
  const buffer = Buffer.allocUnsafeSlow(Math.min(READ_BYTES, end))
  let checksum = 0
  for (let at = 0; at < end; ) {
    const bytesRead = await file.read(buffer.subarray(0, Math.min(buffer.length, end - at)), at)
    if (bytesRead === 0) throw new EndOfContent()
    checksum = checksumOf(buffer.subarray(0, bytesRead), checksum)
    at += bytesRead
  }
  return checksum
}

async function* readRange(file: OpenFile, end: number): AsyncGenerator<Uint8Array, void, undefined> {
  for (let at = 0; at < end; ) {
    const chunk = await readAt(file, at, Math.min(READ_BYTES, end - at))
    if (chunk.length === 0) throw new EndOfContent()
    yield chunk
    at += chunk.length
  }
}

async function readAt(file: OpenFile, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafeSlow(length)
  return buffer.subarray(0, await file.read(buffer, position))
}

function decompress(bytes: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  const zstd = createZstdDecompress({
    params: { [constants.ZSTD_d_windowLogMax]: LARGEST_WINDOW_LOG },
    chunkSize: READ_BYTES,
  })
  // Errors reach the reader of the output; there is nothing else to report.
  return oneAhead(pipeline(Readable.from(bytes, { highWaterMark: 1 }), zstd, () => {}))
}

/** A read error is the file's fault unless it is known to be something else. */
function named(file: OpenFile, error: unknown, { maxFileBytes }: ReadLimits): Error {
  if (error instanceof TooMuchContent) {
    return new LimitError(`Bytes of ${file.name}, decompressed`, 'maxFileBytes', error.bytes, maxFileBytes)
  }
  if (error instanceof EndOfContent) return new CorruptFileError(file.name, 'is truncated')
  if (error instanceof CodedError) return error
  if (isSystemError(error)) return new StorageError('Reading', file.name, error)
  return new CorruptFileError(file.name, "can't be read", error)
}
