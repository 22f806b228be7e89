import { setTimeout as delay } from 'node:timers/promises'

/** What the promise brings, or null as soon as the signal aborts. */
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
  // The only reason to reject is the signal, and whoever waits looks at it.
  await delay(ms, undefined, { signal }).catch(() => undefined)
}
