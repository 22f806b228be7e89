import { useSignal } from '@preact/signals'
import type { RefObject } from 'preact'
import { clock, moment, rate } from '../../format.ts'
import { follow } from '../../parts/follow-pointer.ts'
import { zone } from '../../parts/zone.ts'
import { densityOf, type Scale, timeTicks } from './scale.ts'

const HEIGHT = 48
const LEAST_PX = 5
const LABEL_PX = 84
/** Nearer to the right edge a time would be cut. */
const LEAST_LABEL_PX = 64
const BAR_PX = 4

/** The axis of time with the density of the log below it. Dragging over it zooms in; a click opens the messages there. */
export function PlotHead({
  place,
  scale,
  width,
  zoom,
  open,
}: {
  place: RefObject<HTMLDivElement | null>
  scale: Scale
  width: number
  zoom(from: number, to: number): void
  open(position: number): void
}) {
  const brush = useSignal<readonly [number, number] | undefined>(undefined)
  const begin = (event: PointerEvent): void => {
    if (event.button !== 0) return
    event.preventDefault()
    const { left } = (event.currentTarget as HTMLElement).getBoundingClientRect()
    const xOf = (clientX: number): number => Math.min(1, Math.max(0, (clientX - left) / width))
    const from = xOf(event.clientX)
    follow(event, {
      moved(clientX) {
        brush.value = Math.abs(xOf(clientX) - from) * width < LEAST_PX ? undefined : [from, xOf(clientX)]
      },
      ended(_, isCancelled) {
        const chosen = brush.peek()
        brush.value = undefined
        if (isCancelled) return
        if (chosen === undefined) open(scale.positionAt(from))
        else zoom(scale.positionAt(Math.min(...chosen)), scale.positionAt(Math.max(...chosen)))
      },
    })
  }
  const [low, high] = brush.value ?? [0, 0]
  return (
    <div ref={place} class="river-plot river-head" onPointerDown={begin}>
      <Axis scale={scale} width={width} />
      <Density scale={scale} width={width} />
      {brush.value !== undefined && (
        <div
          class="river-brush"
          style={{ left: `${Math.min(low, high) * width}px`, width: `${Math.abs(high - low) * width}px` }}
        />
      )}
    </div>
  )
}

function Axis({ scale, width }: { scale: Scale; width: number }) {
  const offsetMs = zone() === 'utc' ? 0 : -new Date(scale.endMs).getTimezoneOffset() * 60_000
  const { stepMs, at } = timeTicks(scale.startMs, scale.endMs, Math.max(2, width / LABEL_PX), offsetMs)
  const span = scale.endMs - scale.startMs
  return (
    <div class="river-axis" aria-hidden="true">
      {at.map(time => {
        const x = (time - scale.startMs) / span
        return (
          <span key={time} class="river-time" style={{ left: `${x * width}px` }} title={moment(new Date(time), zone())}>
            {x * width < width - LEAST_LABEL_PX && labelOf(time, stepMs)}
          </span>
        )
      })}
    </div>
  )
}

function labelOf(time: number, stepMs: number): string {
  const date = new Date(time)
  if (stepMs >= 86_400_000) return moment(date, zone()).slice(5, 10)
  const text = clock(date, zone())
  if (stepMs < 1_000) return `${text}.${String(date.getMilliseconds()).padStart(3, '0')}`
  return stepMs >= 60_000 ? text.slice(0, 5) : text
}

function Density({ scale, width }: { scale: Scale; width: number }) {
  const bars = densityOf(scale, Math.max(1, Math.round(width / BAR_PX)))
  const most = Math.max(0, ...bars.map(({ perSecond }) => perSecond))
  const wide = width / bars.length
  const outline = bars
    .map(({ height }, index) => {
      const y = (HEIGHT - height * (HEIGHT - 2)).toFixed(1)
      return `L${(index * wide).toFixed(1)} ${y}L${((index + 1) * wide).toFixed(1)} ${y}`
    })
    .join('')
  return (
    <svg class="river-density" width={width} height={HEIGHT} role="img" aria-label={`Density, at most ${rate(most)}/s`}>
      <path d={`M0 ${HEIGHT}${outline}L${width} ${HEIGHT}Z`} />
    </svg>
  )
}
