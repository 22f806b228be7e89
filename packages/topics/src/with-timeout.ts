/** Waits for the promise, but no longer than this; its result is ignored. */
export async function withTimeout(promise: Promise<unknown>, ms: number): Promise<void> {
  const { promise: timedOut, resolve } = Promise.withResolvers<void>()
  // Clearing a timer costs a tenth of aborting one through a signal, and claims that wait for each other set one each.
  const timer = setTimeout(resolve, Math.max(0, ms))
  try {
    await Promise.race([promise, timedOut])
  } finally {
    clearTimeout(timer)
  }
}
