import { useSignal } from '@preact/signals'
import type { RefObject } from 'preact'
import { useLayoutEffect } from 'preact/hooks'
import { type Window, windowOf } from './window-of.ts'

/** The part of a list that is drawn; it follows the scrolling of the page. A short list is drawn completely. */
export function useWindow(
  list: RefObject<HTMLElement | null>,
  rows: number,
  rowHeight: number,
  from = 100,
): Window | undefined {
  const shown = useSignal<Window>({ first: 0, count: Math.min(rows, 40) })
  const isLong = rows > from
  useLayoutEffect(() => {
    if (!isLong) return
    const look = (): void => {
      const top = -(list.current?.querySelector('tbody')?.getBoundingClientRect().top ?? 0)
      const { first, count } = windowOf(rows, rowHeight, top, innerHeight)
      const before = shown.peek()
      if (before.first !== first || before.count !== count) shown.value = { first, count }
    }
    look()
    addEventListener('scroll', look, { passive: true })
    addEventListener('resize', look)
    return () => {
      removeEventListener('scroll', look)
      removeEventListener('resize', look)
    }
  }, [rows, rowHeight, isLong])
  return isLong ? shown.value : undefined
}
