import type { Options } from '../options/options.ts'
import type { ByteBounds } from '../stores/byte-bounds.ts'

/** Limits of a page in bytes. Data beyond them is not read from the database. */
export type ByteOptions = {
  /** Maximum bytes of payloads, headers and keys per page (default unlimited). A page has at least one message. */
  maxBytes?: number
  /**
   * Size above which a message is returned without payload and headers, with its size in `omittedBytes` (default
   * unlimited).
   */
  maxPayloadBytes?: number
}

const MOST = Number.MAX_SAFE_INTEGER

export function readBounds(options: Options): ByteBounds {
  const maxBytes = options.integer('maxBytes', undefined, { min: 1, max: MOST })
  const maxPayloadBytes = options.integer('maxPayloadBytes', undefined, { min: 0, max: MOST })
  return { ...(maxBytes !== undefined && { maxBytes }), ...(maxPayloadBytes !== undefined && { maxPayloadBytes }) }
}
