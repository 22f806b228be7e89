/** Delays between attempts. */
export type Backoff = {
  /** Delay before the second attempt, in milliseconds. */
  readonly initialMs: number
  /** Maximum delay, in milliseconds. */
  readonly maxMs: number
  /** Factor by which the delay grows with each attempt. */
  readonly factor: number
}

/** The wait after this many failures in a row, 1 being the first. */
export function backoffMs({ initialMs, maxMs, factor }: Backoff, failures: number): number {
  return Math.min(maxMs, initialMs * factor ** (failures - 1))
}

/** The wait after a failed attempt of a message, with up to a tenth of jitter so that failures of one moment spread out. */
export function backoffDelay(backoff: Backoff, attempt: number, random = Math.random): number {
  return Math.round(backoffMs(backoff, attempt) * (1 - 0.1 * random()))
}

/** Half to one and a half times as long: processes that failed together don't try again together. */
export const spread = (ms: number): number => ms * (0.5 + Math.random())
