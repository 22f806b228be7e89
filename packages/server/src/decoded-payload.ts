import { type DescMessage, fromBinary, type Message, type Registry, toJson } from '@bufbuild/protobuf'
import type { Any } from '@bufbuild/protobuf/wkt'
import { contractsRegistry } from '@tidemark/pipeline'
import type { StoredMessage } from 'tidemark'

/** A protobuf message as JSON. */
export type Decoded = { readonly type: string; readonly value: unknown }

const registry: Registry = contractsRegistry
/** Envelopes inside envelopes, before somebody is making fun of the server. */
const MOST_NESTED = 8

/**
 * The payload of a protobuf message of the pipeline as JSON; undefined if its type is unknown, or its bytes are not of
 * that type. An envelope is unwrapped: who looks at messages wants to see what is in it.
 */
export function decodedPayload({ type, payload }: Pick<StoredMessage, 'type' | 'payload'>): Decoded | undefined {
  return typeof payload === 'string' ? undefined : decode(nameOf(type), payload, MOST_NESTED)
}

function decode(typeName: string, bytes: Uint8Array, nested: number): Decoded | undefined {
  const schema = registry.getMessage(typeName)
  if (schema === undefined || nested === 0) return undefined
  try {
    const message = fromBinary(schema, bytes)
    const inner = anyIn(schema, message)
    const unwrapped = inner && decode(nameOf(inner.typeUrl), inner.value, nested - 1)
    return unwrapped ?? { type: typeName, value: toJson(schema, message, { registry }) }
  } catch {
    // Bytes that are not of the type they claim, or an Any of an unknown type: they are shown as bytes.
    return undefined
  }
}

/** The Any that an envelope carries. */
function anyIn({ name, fields }: DescMessage, message: Message): Any | undefined {
  if (!name.endsWith('Envelope')) return undefined
  const field = fields.find(each => each.fieldKind === 'message' && each.message.typeName === 'google.protobuf.Any')
  return field && (Reflect.get(message, field.localName) as Any | undefined)
}

const nameOf = (typeUrl: string): string => typeUrl.slice(typeUrl.lastIndexOf('/') + 1)
