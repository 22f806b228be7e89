import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'

/** Below it, the call costs more than the bytes: 20 µs, for a thousand bytes as for twenty thousand. */
const LEAST_BYTES = 4 * 1024
/** No server takes a larger message, and whoever claims to have one is not believed. */
const MOST_BYTES = 64 * 1024 ** 2
/** Compresses JSON at 400 MB/s or more, faster than a cluster stores it. */
const LEVEL = 1

/** undefined: it would not be smaller. */
export function compress(content: Uint8Array): Buffer | undefined {
  if (content.length < LEAST_BYTES) return undefined
  const params = { [constants.ZSTD_c_compressionLevel]: LEVEL }
  const frame = zstdCompressSync(content, { params, chunkSize: content.length })
  return frame.length < content.length ? frame : undefined
}

/** undefined: it is not a frame with content of this length. */
export function decompress(frame: Uint8Array, length: number): Buffer | undefined {
  if (length < LEAST_BYTES || length > MOST_BYTES) return undefined
  try {
    // With the right size it is not copied together from pieces, which would take twice as long.
    const content = zstdDecompressSync(frame, { chunkSize: length, maxOutputLength: length })
    return content.length === length ? content : undefined
  } catch {
    return undefined // Somebody else's bytes.
  }
}
