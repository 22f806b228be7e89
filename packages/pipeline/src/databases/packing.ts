/** Bytes of a row, compressed or not. The format is detected from the bytes, so it may differ from row to row. */
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { oneOf, wholeNumber } from '../options.ts'
import type { Compression } from '../storage/keys.ts'
import { IndexDatabaseError } from './errors.ts'

/** Compression of indexed ticks. */
export type PackingOptions = {
  /** Compression of new rows (default 'zstd'). Existing rows are detected. */
  readonly compression?: Compression
  /** zstd compression level, 1 to 19 (default 3). */
  readonly level?: number
}

/** Compression of rows, with defaults. */
export type Packing = Required<PackingOptions>

/** First four bytes of a zstd frame. */
const MAGIC = [0x28, 0xb5, 0x2f, 0xfd] as const
const CHUNK_BYTES = 64 * 1024
const FASTEST = 1

export function packingOf({ compression = 'zstd', level = 3 }: PackingOptions): Packing {
  return {
    compression: oneOf('compression', compression, ['zstd', 'none']),
    level: wholeNumber('level', level, { min: 1, max: 19 }),
  }
}

/**
 * Synchronous: 25 kB take 75 µs. On the thread pool it took five times as long, because each call there also creates a
 * compressor.
 */
export function pack(bytes: Uint8Array, { compression, level }: Packing): Uint8Array {
  if (bytes.length === 0) return bytes
  if (compression === 'zstd') return compress(bytes, level)
  // Bytes that look compressed must be compressed.
  return isCompressed(bytes) ? compress(bytes, FASTEST) : bytes
}

/** Bytes as stored in a row. */
export type PackedBytes = {
  /** The bytes. */
  readonly bytes: Uint8Array
  /** Their compression. */
  readonly compression: Compression
}

/** For callers that decompress elsewhere. */
export const packedBytes = (packed: Uint8Array): PackedBytes => ({
  bytes: plain(packed),
  compression: isCompressed(packed) ? 'zstd' : 'none',
})

/** `where`: for the error if it exceeds `maxBytes` or can't be decompressed. */
export function unpack(packed: Uint8Array, maxBytes: number, where: string): Uint8Array {
  if (!isCompressed(packed)) return plain(packed)
  try {
    return plain(zstdDecompressSync(packed, { maxOutputLength: maxBytes, chunkSize: CHUNK_BYTES }))
  } catch (cause) {
    throw new IndexDatabaseError(
      `The bytes of ${where} in the index can't be decompressed, or are more than ${maxBytes}. ` +
        `Index its batch again, or drop the index so that it is rebuilt`,
      cause,
    )
  }
}

const compress = (bytes: Uint8Array, level: number): Uint8Array =>
  zstdCompressSync(bytes, { params: { [constants.ZSTD_c_compressionLevel]: level } })

const isCompressed = (bytes: Uint8Array): boolean => MAGIC.every((byte, at) => bytes[at] === byte)

/** The same text for every engine and library. */
const plain = ({ buffer, byteOffset, length }: Uint8Array): Uint8Array => new Uint8Array(buffer, byteOffset, length)
