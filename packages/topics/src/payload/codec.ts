import type { Message } from '@bufbuild/protobuf'
import type { Any } from '@bufbuild/protobuf/wkt'
import { reasonOf, toError } from '../errors/failure.ts'
import { DecodeError, PayloadError, TidemarkError, UnknownTypeError } from '../errors.ts'
import { isStorable } from '../options/storable.ts'
import type { Protobuf } from './protobuf.ts'
import type { RawMessage } from './raw-message.ts'

/** `type` of a payload of plain bytes; null is JSON, anything else a protobuf type URL. */
const BYTES = 'bytes'
const TYPE_URL_PREFIX = 'type.googleapis.com/'

export type EncodedPayload = { readonly payload: string | Uint8Array; readonly type: string | null }

/** Converts between a program's values and what is stored: JSON text, bytes, or protobuf bytes with their type URL. */
export class Codec {
  readonly #protobuf: Protobuf | undefined

  constructor(protobuf: Protobuf | undefined) {
    this.#protobuf = protobuf
  }

  /** Throws a PayloadError, or why its type is unknown: the payload's own code may throw anything. */
  encode(value: unknown): EncodedPayload {
    try {
      return this.#encode(value)
    } catch (error) {
      if (error instanceof TidemarkError) throw error
      throw new PayloadError(`The payload can't be read: ${reasonOf(error)}`, toError(error))
    }
  }

  #encode(value: unknown): EncodedPayload {
    // A copy: the caller may reuse its buffer.
    if (value instanceof Uint8Array) return { payload: Uint8Array.from(value), type: BYTES }
    if (isProtobuf(value)) return this.#encodeProtobuf(value)
    return { payload: toJson(value), type: null }
  }

  decode(row: Pick<RawMessage, 'id' | 'payload' | 'type'>): unknown {
    const { payload, type } = row
    if (typeof payload === 'string') return parseJson(payload, row)
    if (type === BYTES) return payload
    if (type === null) throw new DecodeError(`Message ${row.id} is marked as JSON but contains bytes`)
    const schema = this.#protobuf?.schemaOf(type.slice(type.lastIndexOf('/') + 1))
    if (this.#protobuf === undefined || schema === undefined) throw new UnknownTypeError(type)
    try {
      return this.#protobuf.fromBinary(schema, payload)
    } catch (error) {
      throw new DecodeError(`Message ${row.id} is not a valid '${type}'`, error)
    }
  }

  #encodeProtobuf(value: Message): EncodedPayload {
    if (value.$typeName === 'google.protobuf.Any') {
      const any = value as Any
      // Foreign JSON can look like one; copying something that only claims to have a length could take for ever.
      if (typeof any.typeUrl !== 'string' || !(any.value instanceof Uint8Array)) {
        throw new PayloadError('The payload has the $typeName of an Any but is not one: its value must be a Uint8Array')
      }
      if (any.typeUrl === BYTES || !isStorable(any.typeUrl)) {
        throw new PayloadError(`'${any.typeUrl}' is not a type URL that can be stored. Pack the Any with anyPack()`)
      }
      return { payload: Uint8Array.from(any.value), type: any.typeUrl }
    }
    const schema = this.#protobuf?.schemaOf(value.$typeName)
    if (this.#protobuf === undefined || schema === undefined) {
      throw new UnknownTypeError(TYPE_URL_PREFIX + value.$typeName)
    }
    try {
      return { payload: this.#protobuf.toBinary(schema, value), type: TYPE_URL_PREFIX + value.$typeName }
    } catch (error) {
      throw new PayloadError(
        `The message of type '${value.$typeName}' can't be encoded: ${reasonOf(error)}`,
        toError(error),
      )
    }
  }
}

const isProtobuf = (value: unknown): value is Message =>
  typeof value === 'object' && value !== null && typeof (value as { $typeName?: unknown }).$typeName === 'string'

function toJson(value: unknown): string {
  if (value instanceof ArrayBuffer || ArrayBuffer.isView(value)) {
    throw new PayloadError('A payload of bytes must be a Uint8Array: wrap it with new Uint8Array(…)')
  }
  let json: string | undefined
  try {
    json = JSON.stringify(value)
  } catch (error) {
    throw new PayloadError(`The payload can't be written as JSON: ${reasonOf(error)}`, toError(error))
  }
  if (json === undefined) {
    throw new PayloadError(`The payload is ${typeof value}, which JSON can't hold. Publish null, or a value with data`)
  }
  return json
}

function parseJson(text: string, row: Pick<RawMessage, 'id'>): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new DecodeError(`The payload of message ${row.id} is not valid JSON`, error)
  }
}
