import { type Signal, useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { follow } from '../../parts/follow-pointer.ts'
import type { Scale } from './scale.ts'

/** A cursor moves by itself, so it is grabbed from this far. */
const REACH_PX = 28
/** Smaller movements, such as a trembling finger, do not move a group. */
const LEAST_PX = 4

type Lane = {
  /** The place of the cursor, 0 to 1. */
  readonly x: number
  readonly scale: Scale
  readonly width: number
  readonly isFixed: boolean
  move(position: number): void
  open(position: number): void
}

/** Dragging near the cursor moves it; a click anywhere on the lane opens the messages there. */
export function useCursorDrag(lane: Lane): {
  readonly dragged: Signal<number | undefined>
  begin(event: PointerEvent): void
} {
  const dragged = useSignal<number | undefined>(undefined)
  // The lane goes on moving under the pointer.
  const latest = useRef(lane)
  latest.current = lane
  const begin = (event: PointerEvent): void => {
    if (event.button !== 0) return
    const { left } = (event.currentTarget as HTMLElement).getBoundingClientRect()
    const placeOf = (clientX: number): number => Math.min(1, Math.max(0, (clientX - left) / latest.current.width))
    const { x, width, isFixed } = lane
    const begun = event.clientX
    const isNear = !isFixed && Math.abs(begun - left - x * width) <= REACH_PX
    follow(event, {
      moved(clientX) {
        if (isNear && (dragged.peek() !== undefined || Math.abs(clientX - begun) >= LEAST_PX))
          dragged.value = placeOf(clientX)
      },
      ended(clientX, isCancelled) {
        const to = dragged.peek()
        dragged.value = undefined
        if (isCancelled) return
        const { scale, move, open } = latest.current
        if (to !== undefined) move(scale.positionAt(to))
        else if (Math.abs(clientX - begun) < LEAST_PX) open(scale.positionAt(placeOf(clientX)))
      },
    })
  }
  return { dragged, begin }
}
