import { type ReadonlySignal, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { Unreachable } from '../http.ts'
import { frozen, isLive, refreshed } from '../live.ts'

export type Loaded<T> = {
  readonly value: ReadonlySignal<T | undefined>
  readonly error: ReadonlySignal<unknown>
  /** Old values stay, dimmed, in the meantime. */
  readonly isLoading: ReadonlySignal<boolean>
  reload(): void
}

/**
 * Loads when its dependencies change, and at an interval; the newest request wins. While the page is hidden, frozen or
 * disconnected it does not load, and keeps what was loaded.
 */
export function useLoaded<T>(
  load: (signal: AbortSignal) => Promise<T>,
  on: readonly unknown[],
  everyMs?: number,
): Loaded<T> {
  const value = useSignal<T | undefined>(undefined)
  const error = useSignal<unknown>(undefined)
  const isLoading = useSignal(true)
  const again = useSignal(0)
  useEffect(() => {
    const abort = new AbortController()
    let timer = 0
    const run = async (): Promise<void> => {
      isLoading.value = true
      try {
        const found = await load(abort.signal)
        if (abort.signal.aborted) return
        value.value = found
        error.value = undefined
      } catch (failure) {
        if (abort.signal.aborted) return
        if (value.peek() === undefined || !(failure instanceof Unreachable)) error.value = failure
      }
      isLoading.value = false
      if (everyMs !== undefined) timer = setTimeout(whenSeen, everyMs)
    }
    const whenSeen = (): void => {
      if (document.visibilityState === 'visible' && !frozen.peek() && isLive.peek()) void run()
      else timer = setTimeout(whenSeen, everyMs)
    }
    void run()
    return () => {
      abort.abort()
      clearTimeout(timer)
    }
  }, [...on, again.value, refreshed.value])
  return {
    value,
    error,
    isLoading,
    reload: () => {
      again.value++
    },
  }
}
