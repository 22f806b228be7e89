import { create } from '@bufbuild/protobuf'
import { AnySchema } from '@bufbuild/protobuf/wkt'
import type { BatchMessage, DeadLetterMessage, StoredMessage } from 'tidemark'
import { ConfigError } from 'tidemark'
import type { Static } from 'typebox'
import { given } from './inputs.ts'
import type { MessageGiven } from './schemas/messages.ts'

/** JSON from outside is JSON and nothing else: a field like '$typeName' must not make a protobuf message of it. */
class JsonPayload {
  readonly #value: unknown

  constructor(value: unknown) {
    this.#value = value
  }

  toJSON(): unknown {
    return this.#value
  }
}

/** A message of a request as the library takes it. */
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

/** A stored message as JSON: its payload as a value where it is JSON, otherwise in base64. */
export function toJson<T extends StoredMessage | DeadLetterMessage>({ payload, ...message }: T): object {
  if (typeof payload !== 'string') return { ...message, payloadBase64: Buffer.from(payload).toString('base64') }
  try {
    return { ...message, payload: JSON.parse(payload) }
  } catch {
    // Somebody wrote to the log by hand; it can still be looked at.
    return { ...message, payloadBase64: Buffer.from(payload).toString('base64') }
  }
}
