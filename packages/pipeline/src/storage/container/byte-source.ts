import { checksumOf } from './checksum.ts'

/** The content ended too early. */
export class EndOfContent extends Error {}

/** More content than is allowed; compressed content can be a thousand times larger than its file. */
export class TooMuchContent extends Error {
  readonly bytes: number

  constructor(bytes: number) {
    super()
    this.bytes = bytes
  }
}

/** Smaller pieces are copied: a view keeps its whole chunk in memory. */
const LEAST_VIEWED = 8 * 1024

/** Takes exact pieces from a stream of chunks, and keeps the checksum of what was taken. */
export class ByteSource {
  checksum = 0
  readonly #chunks: AsyncIterator<Uint8Array>
  readonly #maxBytes: number
  #chunk: Uint8Array = new Uint8Array(0)
  #at = 0
  #received = 0

  constructor(chunks: AsyncIterable<Uint8Array>, maxBytes: number) {
    this.#chunks = chunks[Symbol.asyncIterator]()
    this.#maxBytes = maxBytes
  }

  /** A length: a varint of at most five bytes. undefined if there is none. */
  async length(): Promise<number | undefined> {
    let length = 0
    const read: number[] = []
    for (let shift = 0; shift <= 28; shift += 7) {
      if (this.#at === this.#chunk.length) await this.#fill()
      const byte = this.#chunk[this.#at++] as number
      read.push(byte)
      length += (byte & 0x7f) * 2 ** shift
      if (byte >= 0x80) continue
      this.checksum = checksumOf(Uint8Array.from(read), this.checksum)
      return length
    }
    return undefined
  }

  /**
   * That many bytes: like `take`, or a view of the chunk if it contains them all and they are large. Must not be
   * transferred.
   */
  async view(count: number): Promise<Uint8Array> {
    if (count < LEAST_VIEWED || this.#chunk.length - this.#at < count) return await this.take(count)
    const viewed = this.#chunk.subarray(this.#at, this.#at + count)
    this.#at += count
    this.checksum = checksumOf(viewed, this.checksum)
    return viewed
  }

  /** That many bytes, in their own buffer. */
  async take(count: number): Promise<Uint8Array<ArrayBuffer>> {
    const taken = new Uint8Array(count)
    let filled = 0
    while (filled < count) {
      if (this.#at === this.#chunk.length) await this.#fill()
      const piece = this.#chunk.subarray(this.#at, this.#at + count - filled)
      taken.set(piece, filled)
      filled += piece.length
      this.#at += piece.length
    }
    this.checksum = checksumOf(taken, this.checksum)
    return taken
  }

  async isAtEnd(): Promise<boolean> {
    while (this.#at === this.#chunk.length) {
      const next = await this.#chunks.next()
      if (next.done) return true
      this.#chunk = next.value
      this.#at = 0
    }
    return false
  }

  /** Ends the stream at any point. */
  async close(): Promise<void> {
    await this.#chunks.return?.()
  }

  async #fill(): Promise<void> {
    const next = await this.#chunks.next()
    if (next.done) throw new EndOfContent()
    this.#chunk = next.value
    this.#at = 0
    this.#received += this.#chunk.length
    if (this.#received > this.#maxBytes) throw new TooMuchContent(this.#received)
    if (this.#chunk.length === 0) await this.#fill()
  }
}
