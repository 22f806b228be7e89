import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { whole } from '../format.ts'
import type { RunState } from './run-state.ts'

/** Play, step and scrub. The bar shows which ticks exist, and the population over them. */
export function Timeline({ run }: { run: RunState }) {
  const bar = useRef<HTMLDivElement>(null)
  const entered = useSignal<string | undefined>(undefined)
  const range = run.range.value
  if (range === null) return null
  const span = Math.max(1, range.tickEnd - range.tickStart)
  const share = (tick: number): number => ((tick - range.tickStart) / span) * 100
  const tickAt = (event: PointerEvent): number => {
    const { left, width } = (bar.current as Element).getBoundingClientRect()
    return range.tickStart + Math.min(1, Math.max(0, (event.clientX - left) / width)) * span
  }
  const jump = (text: string): void => {
    const isRelative = /^[+-]/.test(text.trim())
    const number = Number(text.replaceAll(/[\s\u202f,]/g, ''))
    if (Number.isFinite(number)) run.goTo(isRelative ? run.tick.value + number : number)
    entered.value = undefined
  }
  return (
    <div class="timeline panel">
      <div class="row">
        <button type="button" aria-label="First tick" onClick={() => run.goTo(0)}>
          |◀
        </button>
        <button type="button" aria-label="One sample back" onClick={() => run.step(-1)}>
          ◀
        </button>
        <button
          type="button"
          class="primary"
          aria-label={run.isPlaying.value ? 'Pause' : 'Play'}
          onClick={() => run.togglePlay()}
        >
          {run.isPlaying.value ? '❚❚' : '▶'}
        </button>
        <button type="button" aria-label="One sample on" onClick={() => run.step(1)}>
          ▶|
        </button>
        <label class="row">
          <span class="offscreen">Speed</span>
          <select
            value={String(run.speed.value)}
            onChange={event => {
              run.speed.value = Number(event.currentTarget.value)
            }}
          >
            {[1, 4, 8, 15, 30, 60, 120, 240, 480].map(speed => (
              <option key={speed} value={String(speed)}>
                {speed}/s
              </option>
            ))}
          </select>
        </label>
        <label class="row">
          <span class="muted">tick</span>
          <input
            class="tick-field mono"
            inputMode="numeric"
            aria-label="Tick; +1000 jumps ahead"
            value={entered.value ?? whole(run.tick.value)}
            onFocus={event => event.currentTarget.select()}
            onInput={event => {
              entered.value = event.currentTarget.value
            }}
            onKeyDown={event => {
              if (event.key === 'Enter') jump(event.currentTarget.value)
            }}
            onBlur={() => {
              entered.value = undefined
            }}
          />
          <span class="muted">/ {whole(range.tickEnd)}</span>
        </label>
        {run.isStarved.value && <span class="warning small">waiting for frames</span>}
        <button
          type="button"
          class="follow"
          aria-pressed={run.isLive.value}
          onClick={() => (run.isLive.value ? run.goTo(run.tick.value) : run.followLive())}
        >
          {run.isLive.value ? '● following live' : 'Follow live'}
        </button>
      </div>
      <div
        ref={bar}
        class="scrub"
        role="slider"
        tabIndex={0}
        aria-label="Tick"
        aria-valuemin={range.tickStart}
        aria-valuemax={range.tickEnd}
        aria-valuenow={run.tick.value}
        onPointerDown={event => {
          event.currentTarget.setPointerCapture(event.pointerId)
          run.isPlaying.value = false
          run.goTo(tickAt(event))
        }}
        onPointerMove={event => {
          if (event.buttons === 1) run.goTo(tickAt(event))
        }}
      >
        <Population run={run} />
        {run.gaps.value.map(([start, end]) => (
          <span
            key={start}
            class="gap"
            title={`Ticks ${whole(start)} to ${whole(end)} are missing`}
            style={{ insetInlineStart: `${share(start)}%`, width: `${Math.max(0.3, share(end) - share(start))}%` }}
          />
        ))}
        <span class="playhead" style={{ insetInlineStart: `${share(run.tick.value)}%` }} />
      </div>
    </div>
  )
}

function Population({ run }: { run: RunState }) {
  const points = run.series.value
  const range = run.range.value
  if (points.length < 2 || range === null) return null
  const most = Math.max(1, ...points.map(({ alive }) => alive))
  const span = Math.max(1, range.tickEnd - range.tickStart)
  const xOf = (point: { readonly tick: number } | undefined): string =>
    ((((point?.tick ?? 0) - range.tickStart) / span) * 1000).toFixed(1)
  const path = points
    .map(
      ({ tick, alive }) =>
        `${(((tick - range.tickStart) / span) * 1000).toFixed(1)} ${(40 - (alive / most) * 36).toFixed(1)}`,
    )
    .join('L')
  return (
    <svg viewBox="0 0 1000 40" preserveAspectRatio="none" aria-hidden="true">
      <path d={`M${xOf(points[0])} 40L${path}L${xOf(points.at(-1))} 40Z`} fill="currentColor" fill-opacity=".28" />
      <path d={`M${path}`} fill="none" stroke="currentColor" stroke-width="1.2" vector-effect="non-scaling-stroke" />
    </svg>
  )
}
