import { useSignal } from '@preact/signals'
import { clock, plural, whole } from '../../format.ts'
import { zone } from '../../parts/zone.ts'
import { may } from '../../session.ts'
import type { GroupLive } from '../../shapes.ts'
import type { Scale } from './scale.ts'

const STEP = 0.01
/** Smaller movements, such as a trembling finger, do not move a group. */
const LEAST_PX = 4

/**
 * The position of a group. Dragged to another place, it asks to move the group there; the arrow keys and Enter do the
 * same. Nothing happens before the question is confirmed.
 */
export function CursorHandle({
  group,
  x,
  scale,
  width,
  move,
}: {
  group: GroupLive
  x: number
  scale: Scale
  width: number
  move(position: number): void
}) {
  const dragged = useSignal<number | undefined>(undefined)
  const name = group.group === '' ? 'queue' : group.group
  const isFixed = group.status === 'CANCELLED' || !may('operate')
  const drag = (event: PointerEvent): void => {
    const element = event.currentTarget as HTMLElement
    if (isFixed || event.button !== 0) return
    event.preventDefault()
    element.setPointerCapture(event.pointerId)
    const begun = event.clientX
    const follow = (moved: PointerEvent): void => {
      if (dragged.peek() === undefined && Math.abs(moved.clientX - begun) < LEAST_PX) return
      dragged.value = Math.min(1, Math.max(0, x + (moved.clientX - begun) / width))
    }
    const end = (ended: PointerEvent): void => {
      element.removeEventListener('pointermove', follow)
      element.removeEventListener('pointerup', end)
      element.removeEventListener('pointercancel', end)
      const to = dragged.peek()
      dragged.value = undefined
      if (to !== undefined && ended.type === 'pointerup') move(scale.positionAt(to))
    }
    element.addEventListener('pointermove', follow)
    element.addEventListener('pointerup', end)
    element.addEventListener('pointercancel', end)
  }
  const press = (event: KeyboardEvent): void => {
    if (isFixed) return
    const at = dragged.value ?? x
    if (event.key === 'ArrowLeft') dragged.value = Math.max(0, at - STEP)
    else if (event.key === 'ArrowRight') dragged.value = Math.min(1, at + STEP)
    else if (event.key === 'Home') dragged.value = 0
    else if (event.key === 'End') dragged.value = 1
    else if (event.key === 'Escape') dragged.value = undefined
    else if (event.key === 'Enter' && dragged.value !== undefined) {
      move(scale.positionAt(dragged.value))
      dragged.value = undefined
    } else return
    event.preventDefault()
    event.stopPropagation()
  }
  const at = dragged.value ?? x
  const says = saysOf(scale, at, dragged.value === undefined ? undefined : group.cursor)
  return (
    <>
      {dragged.value !== undefined && (
        <div class="lane-ghost" style={{ left: `${at * width}px` }}>
          <span class={at > 0.6 ? 'lane-ghost-label at-end' : 'lane-ghost-label'}>{says}</span>
        </div>
      )}
      <div
        class={isFixed ? 'lane-cursor fixed' : 'lane-cursor'}
        style={{ left: `${x * width}px` }}
        role="slider"
        tabIndex={isFixed ? -1 : 0}
        aria-label={`Position of ${name}. Arrow keys choose another, Enter moves it there.`}
        aria-valuemin={scale.first}
        aria-valuemax={scale.last}
        aria-valuenow={dragged.value === undefined ? group.cursor : scale.positionAt(at)}
        aria-valuetext={says}
        aria-disabled={isFixed || undefined}
        data-tip={isFixed ? undefined : 'drag to move the group'}
        onPointerDown={drag}
        onKeyDown={press}
        onBlur={() => {
          dragged.value = undefined
        }}
      />
    </>
  )
}

function saysOf(scale: Scale, x: number, from: number | undefined): string {
  const position = scale.positionAt(x)
  const place = `message ${whole(position)}, ${clock(new Date(scale.timeAt(x)), zone())}`
  if (from === undefined || from === position) return place
  const distance = plural(Math.abs(position - from), 'message')
  return `${place}: ${position < from ? 'back' : 'forward'} by about ${distance}`
}
