import { setTimeout as delay } from 'node:timers/promises'

/** The promise's value, or null as soon as the signal aborts. */
export async function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T | null> {
  if (signal.aborted) {
    promise.catch(() => undefined)
    return null
  }
  const aborted = Promise.withResolvers<null>()
  const onAbort = () => aborted.resolve(null)
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.race([promise, aborted.promise])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

/** Resolves after the time, or as soon as the signal aborts. */
export async function pauseFor(ms: number, signal: AbortSignal): Promise<void> {
  // Only the signal makes it reject, and callers check the signal.
  await delay(ms, undefined, { signal }).catch(() => undefined)
}
