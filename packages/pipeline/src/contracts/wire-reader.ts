import { ContractError } from '../errors.ts'

export const VARINT = 0
export const FIXED64 = 1
export const DELIMITED = 2
const FIXED32 = 5

/** The tag of a field: its number and wire type. */
export const tagOf = (field: number, wireType: number): number => (field << 3) | wireType

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Walks through one message in protobuf's wire format. Anything invalid is a `ContractError`. */
export class WireReader {
  readonly bytes: Uint8Array
  readonly #messageType: string
  readonly #end: number
  #at: number

  constructor(messageType: string, bytes: Uint8Array, start = 0, end: number = bytes.length) {
    this.#messageType = messageType
    this.bytes = bytes
    this.#at = start
    this.#end = end
  }

  get at(): number {
    return this.#at
  }

  /** Number and wire type of the next field, or 0 at the end. */
  tag(): number {
    if (this.#at === this.#end) return 0
    const tag = this.varint()
    if (tag > 0xffffffff || tag >>> 3 === 0) throw this.error('a field without a number')
    return tag
  }

  /** A varint from 0 to 2^53 - 1. */
  varint(): number {
    let value = 0
    let factor = 1
    for (let count = 0; count < 8; count++) {
      if (this.#at === this.#end) throw this.error('it is truncated')
      const byte = this.bytes[this.#at++] as number
      value += (byte & 0x7f) * factor
      if (byte < 0x80) {
        if (byte === 0 && count > 0) throw this.error('a number is not in its shortest form')
        if (!Number.isSafeInteger(value)) break
        return value
      }
      factor *= 0x80
    }
    throw this.error('a number is negative or beyond 2^53 - 1')
  }

  boolean(): boolean {
    const value = this.varint()
    if (value > 1) throw this.error('a boolean is neither true nor false')
    return value === 1
  }

  double(): number {
    const start = this.#advance(8)
    return new DataView(this.bytes.buffer, this.bytes.byteOffset + start, 8).getFloat64(0, true)
  }

  /** Skips a delimited field and returns where its content is. */
  delimited(): { readonly start: number; readonly end: number } {
    const length = this.varint()
    const start = this.#advance(length)
    return { start, end: start + length }
  }

  /** A copy, which does not keep the message's memory. */
  data(): Uint8Array<ArrayBuffer> {
    const { start, end } = this.delimited()
    return this.bytes.slice(start, end) as Uint8Array<ArrayBuffer>
  }

  text(): string {
    const { start, end } = this.delimited()
    try {
      return utf8.decode(this.bytes.subarray(start, end))
    } catch {
      throw this.error('a text is not UTF-8')
    }
  }

  /**
   * Skips a field that a newer writer added. Groups are refused: no writer creates them, and they nest without bound.
   */
  skip(tag: number): void {
    const wireType = tag & 7
    if (wireType === VARINT) this.#skipVarint()
    else if (wireType === FIXED64) this.#advance(8)
    else if (wireType === FIXED32) this.#advance(4)
    else if (wireType === DELIMITED) this.#advance(this.varint())
    else throw this.error(`field ${tag >>> 3} has wire type ${wireType}`)
  }

  error(problem: string): ContractError {
    return new ContractError(this.#messageType, `${problem} (at byte ${this.#at})`)
  }

  #skipVarint(): void {
    for (let count = 0; count < 10; count++) {
      if ((this.bytes[this.#advance(1)] as number) < 0x80) return
    }
    throw this.error('a number has more than ten bytes')
  }

  #advance(count: number): number {
    const start = this.#at
    if (count > this.#end - start) throw this.error('it is truncated')
    this.#at += count
    return start
  }
}
