/** How long to wait before the next try of something that fails. */
export type Backoff = {
  readonly firstMs: number
  readonly longestMs: number
  /** Up to this share shorter or longer, so that those who failed together do not all come back at once. */
  readonly jitter?: number
}

/** Of whatever is away: a database, a server, a disk. */
const AWAY: Backoff = { firstMs: 100, longestMs: 5_000, jitter: 0.25 }

/** After this many failures in a row, counted from 0: the first wait, doubled each time up to the longest. */
export function backoffMs(failures: number, { firstMs, longestMs, jitter = 0 }: Backoff = AWAY): number {
  return Math.min(longestMs, firstMs * 2 ** failures) * (1 - jitter + 2 * jitter * Math.random())
}
