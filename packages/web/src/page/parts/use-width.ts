import { type ReadonlySignal, useSignal } from '@preact/signals'
import type { RefObject } from 'preact'
import { useLayoutEffect } from 'preact/hooks'

/** The current width of an element in pixels. */
export function useWidth(element: RefObject<Element | null>): ReadonlySignal<number> {
  const width = useSignal(0)
  useLayoutEffect(() => {
    const found = element.current
    if (found === null) return
    const look = (): void => {
      width.value = found.clientWidth
    }
    look()
    const observer = new ResizeObserver(look)
    observer.observe(found)
    return () => observer.disconnect()
  }, [element.current])
  return width
}
