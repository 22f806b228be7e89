import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { constants, createZstdCompress } from 'node:zlib'
import type { Compression } from '../keys.ts'
import { type ContainerHeader, checksumOf, encodeFooter, encodeHeader, encodeSeal } from './format.ts'

/**
 * Ticks are gathered to this size before they are compressed and written: each piece is a trip to another thread, and
 * at 25 kB each these took as long as zstd itself.
 */
const CHUNK_BYTES = 512 * 1024
const LONGEST_LENGTH = 5

export type CompressionSetting = { readonly compression: Compression; readonly level: number }

/** `contentChecksum`: of header and messages, however they are compressed. */
export type Written = { readonly contentChecksum: number; readonly bytes: number }

type Sink = (chunk: Uint8Array) => Promise<void>

/** Writes a whole file to `sink`. The messages are taken one by one, and at most a few chunks of them are held. */
export async function writeContainer(
  header: ContainerHeader,
  messages: AsyncIterable<Uint8Array>,
  { compression, level }: CompressionSetting,
  sink: Sink,
): Promise<Written> {
  const content = new Content(header, messages)
  let bytes = 0
  let checksum = 0
  const write = async (chunk: Uint8Array): Promise<void> => {
    bytes += chunk.length
    if (compression === 'zstd') checksum = checksumOf(chunk, checksum)
    await sink(chunk)
  }
  if (compression === 'none') {
    for await (const chunk of content.chunks()) await write(chunk)
  } else {
    await compress(content.chunks(), level, write)
    await write(encodeSeal(checksum))
  }
  return { contentChecksum: content.checksum, bytes }
}

async function compress(chunks: AsyncIterable<Uint8Array>, level: number, write: Sink): Promise<void> {
  const params = { [constants.ZSTD_c_compressionLevel]: level }
  const zstd = createZstdCompress({ params, chunkSize: CHUNK_BYTES })
  const source = Readable.from(chunks, { objectMode: true, highWaterMark: 1 })
  await pipeline(source, zstd, async (compressed: AsyncIterable<Uint8Array>) => {
    for await (const chunk of compressed) await write(chunk)
  })
}

/** Header, messages and footer, gathered into chunks. */
class Content {
  checksum = 0
  readonly #header: ContainerHeader
  readonly #messages: AsyncIterable<Uint8Array>

  constructor(header: ContainerHeader, messages: AsyncIterable<Uint8Array>) {
    this.#header = header
    this.#messages = messages
  }

  async *chunks(): AsyncGenerator<Uint8Array> {
    let chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES)
    const header = encodeHeader(this.#header)
    let at = header.copy(chunk)
    for await (const message of this.#messages) {
      if (at + LONGEST_LENGTH + message.length > chunk.length) {
        if (at > 0) yield this.#counted(chunk.subarray(0, at))
        // A new one: the compressor may still be reading the other.
        chunk = Buffer.allocUnsafeSlow(Math.max(CHUNK_BYTES, message.length + LONGEST_LENGTH))
        at = 0
      }
      at = writeLength(message.length, chunk, at)
      chunk.set(message, at)
      at += message.length
    }
    if (at > 0) yield this.#counted(chunk.subarray(0, at))
    yield encodeFooter(this.#header.messageCount, this.checksum)
  }

  #counted(chunk: Uint8Array): Uint8Array {
    this.checksum = checksumOf(chunk, this.checksum)
    return chunk
  }
}

function writeLength(length: number, bytes: Uint8Array, start: number): number {
  let at = start
  let rest = length
  for (; rest >= 0x80; rest >>>= 7) bytes[at++] = (rest & 0x7f) | 0x80
  bytes[at++] = rest
  return at
}
