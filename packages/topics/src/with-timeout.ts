/** Waits for the promise, but no longer than this; what it brings is not of interest. */
export async function withTimeout(promise: Promise<unknown>, ms: number): Promise<void> {
  const { promise: timedOut, resolve } = Promise.withResolvers<void>()
  // A timer that is cleared costs a tenth of one that a signal aborts, and claims that wait for each other set one each.
  const timer = setTimeout(resolve, Math.max(0, ms))
  try {
    await Promise.race([promise, timedOut])
  } finally {
    clearTimeout(timer)
  }
}
