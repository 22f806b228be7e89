import { create } from '@bufbuild/protobuf'
import { AnySchema } from '@bufbuild/protobuf/wkt'
import type { BatchMessage, StoredMessage } from 'tidemark'
import { ConfigError } from 'tidemark'
import type { Static } from 'typebox'
import { decodedPayload } from './decoded-payload.ts'
import { given } from './inputs.ts'
import type { MessageGiven } from './schemas/messages.ts'

/** JSON from outside is only JSON: a field like '$typeName' must not turn it into a protobuf message. */
class JsonPayload {
  readonly #value: unknown

  constructor(value: unknown) {
    this.#value = value
  }

  toJSON(): unknown {
    return this.#value
  }
}

/** A message of a request in the form that the library takes. */
export function toBatchMessage(message: Static<typeof MessageGiven>): BatchMessage {
  const { key, headers, messageId } = message
  return { payload: payloadOf(message), ...given({ key, headers, messageId }) } as BatchMessage
}

function payloadOf({ payload, payloadBase64, type }: Static<typeof MessageGiven>): unknown {
  if ((payload === undefined) === (payloadBase64 === undefined)) {
    throw new ConfigError('message', 'both or neither', "one of 'payload' (JSON) and 'payloadBase64' (bytes)")
  }
  if (payloadBase64 === undefined) {
    if (type !== undefined) throw new ConfigError('message.type', type, "'payloadBase64' beside it: JSON has no type")
    return new JsonPayload(payload)
  }
  const value = Uint8Array.from(Buffer.from(payloadBase64, 'base64'))
  return type === undefined ? value : create(AnySchema, { typeUrl: type, value })
}

type Stored = Pick<StoredMessage, 'payload' | 'omittedBytes'>

/** How a message is shown. */
export type Shown = {
  /** Bytes of a payload that are sent; undefined: all. */
  readonly payloadBytes?: number
  /** Whether protobuf messages of the pipeline are decoded. */
  readonly decode?: boolean
}

/** As `toText`, with the size of the payload, of which only the beginning may be sent. */
export function toShortText(message: StoredMessage, { payloadBytes = Number.MAX_SAFE_INTEGER, decode }: Shown): string {
  const { payload, omittedBytes, ...rest } = message
  const payloadSize = omittedBytes ?? Buffer.byteLength(payload)
  const decoded = decode && omittedBytes === undefined ? decodedPayload(message) : undefined
  const more = { ...rest, payloadSize, ...(decoded && { decoded }) }
  if (omittedBytes !== undefined) return toText({ ...more, payload, omittedBytes, payloadTruncated: true })
  if (payloadSize <= payloadBytes) return toText({ ...more, payload, payloadTruncated: false })
  // JSON that is cut is no JSON any more: it is sent as bytes.
  const beginning = Buffer.from(payload as Uint8Array).subarray(0, payloadBytes)
  return toText({ ...more, payload: beginning, payloadTruncated: true })
}

/**
 * A stored message as JSON text: its payload unchanged if it is JSON, otherwise in base64. The stored text is not
 * serialised again: large numbers stay exact, and it takes half the time.
 */
export function toText<T extends Stored>({ payload, ...message }: T): string {
  const rest = JSON.stringify(message).slice(0, -1)
  if (message.omittedBytes !== undefined) return `${rest}}`
  return isJson(payload) ? `${rest},"payload":${inOneLine(payload)}}` : `${rest},"payloadBase64":"${base64(payload)}"}`
}

/** Somebody may have written to the log by hand; it can still be shown. */
function isJson(payload: string | Uint8Array): payload is string {
  if (typeof payload !== 'string') return false
  try {
    JSON.parse(payload)
    return true
  } catch {
    return false
  }
}

/** Line breaks in JSON are between its values, and would end a server-sent event. */
const inOneLine = (json: string): string => (/[\r\n]/.test(json) ? json.replaceAll(/[\r\n]/g, ' ') : json)

const base64 = (payload: string | Uint8Array): string => Buffer.from(payload as Uint8Array).toString('base64')
