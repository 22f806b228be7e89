import { setTimeout as delay } from 'node:timers/promises'

/** Waits for the promise, but no longer than this; what it brings is not of interest. */
export async function withTimeout(promise: Promise<unknown>, ms: number): Promise<void> {
  const timer = new AbortController()
  await Promise.race([promise, delay(Math.max(0, ms), undefined, { signal: timer.signal }).catch(() => undefined)])
  timer.abort()
}
