/** How much a page may hold, so that nobody has to load a gigabyte to see the first of it. */
export type ByteBounds = {
  /** Maximum stored bytes of a page. The first row is returned at any size. */
  readonly maxBytes?: number
  /** A larger row comes without its payload and headers (`omittedBytes`), and counts nothing. */
  readonly maxPayloadBytes?: number
}

export const UNBOUNDED = Number.MAX_SAFE_INTEGER
