/** A message row as it is stored. Immutable, so that the groups of one process share it. */
export type RawMessage = {
  readonly id: number
  /** Text: JSON. Bytes: see `type`. */
  readonly payload: string | Uint8Array
  readonly type: string | null
  readonly key: string | null
  readonly headers: string | null
  /** Only where the caller gave one; otherwise it follows from the topic's uid and the id. */
  readonly messageId: string | null
  readonly createdAt: number
  /** The decoded payload, where groups share it (`sharedPayloads`). */
  decoded?: { readonly value: unknown } | undefined
}

/** About what a row costs in memory, for the caches' limits. */
export const rawMessageBytes = (row: RawMessage): number =>
  row.payload.length + (row.key?.length ?? 0) + (row.headers?.length ?? 0) + 160
