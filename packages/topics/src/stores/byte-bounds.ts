/** Limits the size of a page, so that nobody has to load a gigabyte to see the first message. */
export type ByteBounds = {
  /** Maximum stored bytes of a page. The first row is returned at any size. */
  readonly maxBytes?: number
  /** A larger row comes without its payload and headers (`omittedBytes`), and takes no room. */
  readonly maxPayloadBytes?: number
}

export const UNBOUNDED = Number.MAX_SAFE_INTEGER
