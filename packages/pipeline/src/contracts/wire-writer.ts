import { ContractError } from '../errors.ts'

const FIRST_BYTES = 64 * 1024
/** A larger buffer is dropped after its message, so that one huge message doesn't occupy memory for ever. */
const KEPT_BYTES = 16 * 1024 * 1024
const utf8 = new TextEncoder()

/** Writes protobuf's wire format into one buffer that grows and is reused. */
export class WireWriter {
  bytes = new Uint8Array(FIRST_BYTES)
  at = 0
  view = new DataView(this.bytes.buffer)

  /** Returns what was written, in its own buffer (so that it can be transferred); the writer is empty again. */
  take(): Uint8Array<ArrayBuffer> {
    const taken = this.bytes.slice(0, this.at)
    this.at = 0
    if (this.bytes.length > KEPT_BYTES) this.#resize(FIRST_BYTES)
    return taken
  }

  /** Makes room for this many more bytes; `bytes` may be another buffer afterwards. */
  reserve(count: number): void {
    const needed = this.at + count
    if (needed > this.bytes.length) this.#resize(Math.max(needed, this.bytes.length * 2))
  }

  /** A whole number from 0 to 2^53 - 1. */
  varint(value: number): void {
    this.reserve(10)
    let rest = value
    while (rest >= 0x80) {
      this.bytes[this.at++] = (rest % 0x80) | 0x80
      rest = Math.floor(rest / 0x80)
    }
    this.bytes[this.at++] = rest
  }

  /** Omitted if it is 0, as in proto3. */
  unsigned(tag: number, value: number, messageType: string, name: string): void {
    if (!Number.isSafeInteger(value) || value < 0) {
      throw new ContractError(messageType, `${name} is ${value}, not a whole number from 0 to 2^53 - 1`)
    }
    if (value === 0) return
    this.varint(tag)
    this.varint(value)
  }

  /** Omitted if it is 0, as in proto3; -0 is not omitted. */
  double(tag: number, value: number): void {
    if (Object.is(value, 0)) return
    this.varint(tag)
    this.reserve(8)
    this.view.setFloat64(this.at, value, true)
    this.at += 8
  }

  data(tag: number, data: Uint8Array): void {
    this.varint(tag)
    this.varint(data.length)
    this.reserve(data.length)
    this.bytes.set(data, this.at)
    this.at += data.length
  }

  text(tag: number, text: string): void {
    this.data(tag, utf8.encode(text))
  }

  /**
   * A field whose length is known only after it is written: `guess` bytes are reserved for the length, and the content
   * is moved if that was wrong. This saves a pass over the content to measure it.
   */
  delimited(tag: number, guess: number, write: () => void): void {
    this.varint(tag)
    const reserved = sizeOfVarint(guess)
    this.reserve(reserved)
    const lengthAt = this.at
    const start = lengthAt + reserved
    this.at = start
    write()
    const length = this.at - start
    const needed = sizeOfVarint(length)
    if (needed !== reserved) {
      this.reserve(needed)
      this.bytes.copyWithin(lengthAt + needed, start, this.at)
    }
    this.at = lengthAt
    this.varint(length)
    this.at += length
  }

  #resize(length: number): void {
    const bytes = new Uint8Array(length)
    bytes.set(this.bytes.subarray(0, this.at))
    this.bytes = bytes
    this.view = new DataView(bytes.buffer)
  }
}

function sizeOfVarint(value: number): number {
  let size = 1
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) size++
  return size
}
