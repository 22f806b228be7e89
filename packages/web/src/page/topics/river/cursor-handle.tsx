import type { Signal } from '@preact/signals'
import { clock, plural, whole } from '../../format.ts'
import { zone } from '../../parts/zone.ts'
import type { GroupLive } from '../../shapes.ts'
import type { Scale } from './scale.ts'

const STEP = 0.01

/**
 * The position of a group. Dragged to another place, it asks to move the group there; the arrow keys and Enter do the
 * same. Nothing happens before the question is confirmed.
 */
export function CursorHandle({
  group,
  x,
  scale,
  width,
  dragged,
  isFixed,
  move,
}: {
  group: GroupLive
  x: number
  scale: Scale
  width: number
  /** Where it is dragged to, 0 to 1. */
  dragged: Signal<number | undefined>
  isFixed: boolean
  move(position: number): void
}) {
  const name = group.group === '' ? 'queue' : group.group
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
