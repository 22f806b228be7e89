import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'

/** The numbers are looked at again while the question is open. */
const AGAIN_MS = 3_000
/** Numbers that have just changed under somebody's finger are not confirmed with the old ones in mind. */
const SETTLE_MS = 500

export type Watched<T> = {
  readonly value: T | undefined
  readonly error: unknown
  /** It has changed within the last half second. */
  readonly isSettling: boolean
}

/**
 * A preview, loaded when it opens and again every few seconds. `about`: what it depends on; another value loads it
 * again.
 */
export function useWatched<T>(ask: (signal: AbortSignal) => Promise<T>, about = ''): Watched<T> {
  const value = useSignal<T | undefined>(undefined)
  const error = useSignal<unknown>(undefined)
  const isSettling = useSignal(false)
  const latest = useRef(ask)
  latest.current = ask
  useEffect(() => {
    const ended = new AbortController()
    let [again, settled] = [0, 0]
    const look = async (): Promise<void> => {
      try {
        const found = await latest.current(ended.signal)
        if (!ended.signal.aborted) show(found)
      } catch (failure) {
        if (ended.signal.aborted) return
        error.value = failure
        value.value = undefined
      }
      if (!ended.signal.aborted) again = setTimeout(look, AGAIN_MS)
    }
    const show = (found: T): void => {
      error.value = undefined
      const before = value.peek()
      if (JSON.stringify(before) === JSON.stringify(found)) return
      if (before !== undefined) {
        isSettling.value = true
        clearTimeout(settled)
        settled = setTimeout(() => {
          isSettling.value = false
        }, SETTLE_MS)
      }
      value.value = found
    }
    void look()
    return () => {
      ended.abort()
      clearTimeout(again)
      clearTimeout(settled)
      isSettling.value = false
    }
  }, [about])
  return { value: value.value, error: error.value, isSettling: isSettling.value }
}
