import type { RawMessage } from '../payload/raw-message.ts'
import { type Schema, validate } from '../payload/schema.ts'
import type { Runtime } from '../runtime.ts'

/** How a group or reader turns rows into payloads. */
export type Decoding<T> = {
  readonly schema: Schema<unknown, T> | undefined
  /** Decode once for all groups of the process; the payloads are frozen. */
  readonly sharedPayloads: boolean
}

/** A schema given to the group or reader takes precedence over the one given to `open` for the topic. */
export const decodingOf = <T>(
  runtime: Runtime,
  topic: string,
  schema: Schema<unknown, T> | undefined,
  sharedPayloads = false,
): Decoding<T> => ({
  schema: schema ?? (runtime.schemas.get(topic) as Schema<unknown, T> | undefined),
  sharedPayloads,
})

/** The payload, or a promise of it if the schema validates asynchronously. Throws what is wrong with it. */
export function decodePayload<T>(
  runtime: Runtime,
  topic: string,
  raw: RawMessage,
  decoding: Decoding<T>,
): T | Promise<T> {
  const value = decoding.sharedPayloads ? sharedValue(runtime, raw) : runtime.codec.decode(raw)
  return decoding.schema === undefined ? (value as T) : validate(decoding.schema, topic, value)
}

function sharedValue(runtime: Runtime, raw: RawMessage): unknown {
  raw.decoded ??= { value: deepFreeze(runtime.codec.decode(raw)) }
  return raw.decoded.value
}

/** Bytes can't be frozen; groups that share payloads must not modify them. */
function deepFreeze(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value) || Object.isFrozen(value)) return value
  for (const each of Object.values(value)) deepFreeze(each)
  return Object.freeze(value)
}
