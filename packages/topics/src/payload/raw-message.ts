/** A message row as it is stored. Immutable, so that the groups of one process share it. */
export type RawMessage = {
  readonly id: number
  /** 52 random bits of the publish that stored it: ids are drawn again after a rollback or a restore, this is not. */
  readonly salt: number
  /** Text: JSON. Bytes: see `type`. */
  readonly payload: string | Uint8Array
  readonly type: string | null
  readonly key: string | null
  readonly headers: string | null
  /** Only where the caller gave one; otherwise it follows from the salt, the topic's uid and the id. */
  readonly messageId: string | null
  readonly createdAt: number
  /** Too large for who asked: its payload (here empty) and headers were left out, so many bytes. */
  readonly omittedBytes?: number
  /** PostgreSQL, where rows are shared: the transaction that wrote it. Ids are drawn again after a crash that lost commits. */
  readonly xid?: number
  /** The decoded payload, where groups share it (`sharedPayloads`). */
  decoded?: { readonly value: unknown } | undefined
}

/** The same in everything that is stored. */
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

/** About what a row costs in memory, for the caches' limits. */
export const rawMessageBytes = (row: RawMessage): number =>
  row.payload.length + (row.key?.length ?? 0) + (row.headers?.length ?? 0) + 160
