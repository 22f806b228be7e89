/** Delays between attempts. */
export type Backoff = {
  /** Delay before the second attempt, in milliseconds. */
  readonly initialMs: number
  /** Maximum delay, in milliseconds. */
  readonly maxMs: number
  /** Factor by which the delay grows with each attempt. */
  readonly factor: number
}

/** Delay after this many failures in a row, starting at 1. */
export function backoffMs({ initialMs, maxMs, factor }: Backoff, failures: number): number {
  return Math.min(maxMs, initialMs * factor ** (failures - 1))
}

/** Delay after a failed attempt of a message, with up to 10 % jitter so that simultaneous failures spread out. */
export function backoffDelay(backoff: Backoff, attempt: number, random = Math.random): number {
  return Math.round(backoffMs(backoff, attempt) * (1 - 0.1 * random()))
}

/** Half to one and a half times as long, so that processes that failed together don't retry together. */
export const spread = (ms: number): number => ms * (0.5 + Math.random())
