import type { ByteOptions } from 'tidemark'

/** Base64 makes a third more of bytes, and every message has fields beside its payload. */
const SHARE = 0.7

/** How much of the database's an answer of so many bytes can hold. */
export function bytesToRead(answerBytes: number): Required<ByteOptions> {
  const bytes = Math.floor(answerBytes * SHARE)
  return { maxBytes: bytes, maxPayloadBytes: bytes }
}
