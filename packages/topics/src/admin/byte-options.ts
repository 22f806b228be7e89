import type { Options } from '../options.ts'
import type { ByteBounds } from '../stores/byte-bounds.ts'

/** How much a page may hold. What is beyond it is not read from the database either. */
export type ByteOptions = {
  /** Bytes of payloads, headers and keys on a page (default: no limit). At least one message comes; `next` has the rest. */
  maxBytes?: number
  /** A message that has more comes without its payload and headers, and says how many (`omittedBytes`). Default: no limit. */
  maxPayloadBytes?: number
}

const MOST = Number.MAX_SAFE_INTEGER

export function readBounds(options: Options): ByteBounds {
  const maxBytes = options.integer('maxBytes', undefined, { min: 1, max: MOST })
  const maxPayloadBytes = options.integer('maxPayloadBytes', undefined, { min: 0, max: MOST })
  return { ...(maxBytes !== undefined && { maxBytes }), ...(maxPayloadBytes !== undefined && { maxPayloadBytes }) }
}
