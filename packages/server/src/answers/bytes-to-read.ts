import type { ByteOptions } from 'tidemark'

/** Base64 makes bytes a third larger, and every message has fields beside its payload. */
const SHARE = 0.7

/** Stored bytes that fit into an answer of this many bytes. */
export function bytesToRead(answerBytes: number): Required<ByteOptions> {
  const bytes = Math.floor(answerBytes * SHARE)
  return { maxBytes: bytes, maxPayloadBytes: bytes }
}
