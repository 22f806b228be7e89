import type { Publisher } from './publish/publisher.ts'
import type { Runtime } from './runtime.ts'
import { withTimeout } from './with-timeout.ts'

const LEAST_WAIT_MS = 500

type ShutdownOptions = {
  readonly timeoutMs: number
  readonly leaveWakeHub: () => void
  /** Runs when everything has stopped, before the database is closed. */
  readonly last?: () => Promise<void>
}

/**
 * Stops what is running, stores what is pending, and closes the database. Its duration is bounded, whatever the
 * database does.
 */
export async function shutDown(
  runtime: Runtime,
  publisher: Publisher,
  { timeoutMs, leaveWakeHub, last }: ShutdownOptions,
): Promise<void> {
  runtime.clock.stop()
  const until = performance.now() + timeoutMs
  /** An unresponsive database is waited for this long in total, and a moment for each step. */
  const left = (): number => Math.max(LEAST_WAIT_MS, until - performance.now())
  const background = Promise.all([runtime.backfills.stop(), runtime.maintenance.stop()])
  const groups = [...runtime.started].map(each => each.stop({ timeout: timeoutMs }))
  // Handlers may use all of it; then their messages are released.
  await withTimeout(Promise.allSettled(groups), left() + LEAST_WAIT_MS)
  runtime.heartbeats.stop()
  await withTimeout(Promise.all([background, publisher.drain()]), left())
  // Groups have waited for the database as long as they may; what it did not accept will be redelivered.
  runtime.settler.stop()
  await withTimeout(runtime.settler.drain(), LEAST_WAIT_MS)
  leaveWakeHub()
  try {
    await last?.()
  } finally {
    await runtime.store.close(LEAST_WAIT_MS)
  }
}
