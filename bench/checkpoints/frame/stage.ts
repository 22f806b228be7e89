import { setTimeout as delay } from 'node:timers/promises'
import type { EngineName } from '../../suite.ts'
import type { Stage } from './checkpoint.ts'
import { type CheckpointDatabase, openDatabase } from './database.ts'
import type { Progress } from './progress.ts'

const POLL_MS = 50

export type StageOptions = {
  readonly engine: EngineName
  readonly full: boolean
  readonly signal: AbortSignal
  readonly progress: Pick<Progress, 'phase'>
}

/** A stage and everything that was opened on it, which ends with it, the last opened first. */
export function openStage({ engine, full, signal, progress }: StageOptions): Stage & AsyncDisposable {
  const opened = new AsyncDisposableStack()
  return {
    engine,
    full,
    signal,
    pick: (scaled, whole) => (full ? whole : scaled),
    phase(text) {
      signal.throwIfAborted()
      progress.phase(text)
    },
    pause: async seconds => await delay(seconds * 1_000, undefined, { signal }),
    async within(seconds, condition) {
      const started = performance.now()
      const elapsed = (): number => (performance.now() - started) / 1_000
      while (elapsed() < seconds) {
        if (await condition()) return elapsed()
        await delay(POLL_MS, undefined, { signal })
      }
      return null
    },
    async database(options): Promise<CheckpointDatabase> {
      signal.throwIfAborted()
      return opened.use(await openDatabase(engine, options))
    },
    [Symbol.asyncDispose]: async () => await opened.disposeAsync(),
  }
}
