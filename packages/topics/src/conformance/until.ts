import { setTimeout as delay } from 'node:timers/promises'

/** From 5 ms to 25 ms, a twentieth of the time waited: a long wait leaves the processor to what is waited for. */
const pollMs = (waitedMs: number): number => Math.min(25, Math.max(5, waitedMs / 20))

export type UntilOptions = {
  /** Milliseconds. */
  timeout?: number
  /**
   * Completes the sentence "Waited … for", e.g. 'both consumers to be idle'; a function is called at the end of the
   * wait.
   */
  what: string | (() => string)
}

type Truthy<T> = Exclude<T, undefined | null | false | 0 | 0n | ''>

/**
 * Polls until the condition returns a truthy value, and returns that value. A condition that throws ends the wait with
 * its error; one that never resolves ends it at the timeout.
 */
export async function until<T>(
  condition: () => T | Promise<T>,
  { timeout = 60_000, what }: UntilOptions,
): Promise<Truthy<T>> {
  const expired = Promise.withResolvers<never>()
  const started = performance.now()
  const timer = setTimeout(() => {
    expired.reject(new Error(`Timed out after ${timeout} ms waiting for ${typeof what === 'string' ? what : what()}`))
  }, timeout)
  try {
    for (;;) {
      const value = await Promise.race([condition(), expired.promise])
      if (value) return value as Truthy<T>
      await Promise.race([delay(pollMs(performance.now() - started)), expired.promise])
    }
  } finally {
    clearTimeout(timer)
  }
}
