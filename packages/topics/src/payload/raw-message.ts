/** A message row as it is stored. It is immutable, so that the groups of a process can share it. */
export type RawMessage = {
  /** Id of the message. */
  readonly id: number
  /** 52 random bits of the publish that stored it. Ids are reused after a rollback or a restore, salts are not. */
  readonly salt: number
  /** Text: JSON. Bytes: described by `type`. */
  readonly payload: string | Uint8Array
  /** Type of the payload; null: JSON. */
  readonly type: string | null
  /** Key of the message, or null. */
  readonly key: string | null
  /** Headers as JSON, or null. */
  readonly headers: string | null
  /** Id given by the publisher, or null: it is then derived from the salt, the topic's uid and the id. */
  readonly messageId: string | null
  /** Time of the publish. */
  readonly createdAt: number
  /** Bytes of payload and headers that were left out because they exceed the caller's limit. The payload is then empty. */
  readonly omittedBytes?: number
  /** PostgreSQL, if rows are shared: transaction that wrote it. Ids are reused after a crash that lost commits. */
  readonly xid?: number
  /** Decoded payload, if groups share it (`sharedPayloads`). */
  decoded?: { readonly value: unknown } | undefined
}

/** Whether everything that is stored is the same. */
export function isSameRow(a: RawMessage, b: RawMessage): boolean {
  return (
    a.id === b.id &&
    a.salt === b.salt &&
    a.xid === b.xid &&
    a.createdAt === b.createdAt &&
    a.type === b.type &&
    a.key === b.key &&
    a.headers === b.headers &&
    a.messageId === b.messageId &&
    isSamePayload(a.payload, b.payload)
  )
}

function isSamePayload(a: string | Uint8Array, b: string | Uint8Array): boolean {
  if (typeof a === 'string' || typeof b === 'string') return a === b
  return Buffer.compare(a, b) === 0
}

/** Approximate memory size of a row, for the limits of caches. */
export const rawMessageBytes = (row: RawMessage): number =>
  row.payload.length + (row.key?.length ?? 0) + (row.headers?.length ?? 0) + 160
