import type { Backoff } from 'tidemark'

type JitteredBackoff = Backoff & {
  /** Random variation up to this share, so that callers that failed together do not all come back at once. */
  readonly jitter?: number
}

/** Backoff while something is unavailable: a database, a server, a disk. */
const AWAY: JitteredBackoff = { initialMs: 100, maxMs: 5_000, factor: 2, jitter: 0.25 }

/** Delay after this many failures in a row, counted from 0. */
export function retryDelayMs(
  failures: number,
  { initialMs, maxMs, factor, jitter = 0 }: JitteredBackoff = AWAY,
): number {
  return Math.min(maxMs, initialMs * factor ** failures) * (1 - jitter + 2 * jitter * Math.random())
}
