import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { count, whole } from '../format.ts'
import { Population } from './population.tsx'
import type { RunState } from './run-state.ts'
import { SPEEDS } from './speeds.ts'

/** Play, step and scrub. The bar shows which ticks exist, and the population over them. */
export function Timeline({ run }: { run: RunState }) {
  if (run.range.value === null) return null
  return (
    <section class="timeline panel" aria-label="Timeline">
      <div class="row">
        <Transport run={run} />
        <TickField run={run} />
        {run.slowedTo.value !== undefined && (
          <span class="warning small" role="status">
            slowed to {count(run.slowedTo.value)}/s: the ticks come no faster
          </span>
        )}
        <button
          type="button"
          class="follow"
          aria-pressed={run.isLive.value}
          title="Follow live (v)"
          onClick={() => (run.isLive.value ? run.goTo(run.tick.value) : run.followLive())}
        >
          {run.isLive.value ? '● following live' : 'Follow live'}
        </button>
      </div>
      <Scrubber run={run} />
    </section>
  )
}

function Transport({ run }: { run: RunState }) {
  const isMoving = run.isPlaying.value || run.isLive.value
  return (
    <>
      <button type="button" aria-label="First tick" title="First tick (Home)" onClick={() => run.goTo(0)}>
        |◀
      </button>
      <button type="button" aria-label="One sample back" title="One sample back (←)" onClick={() => run.step(-1)}>
        ◀
      </button>
      <button
        type="button"
        class="primary play"
        aria-label={isMoving ? 'Pause' : 'Play'}
        title="Play or pause (Space)"
        onClick={() => run.togglePlay()}
      >
        {isMoving ? '❚❚' : '▶'}
      </button>
      <button type="button" aria-label="One sample on" title="One sample on (→)" onClick={() => run.step(1)}>
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
          {SPEEDS.map(speed => (
            <option key={speed} value={String(speed)}>
              {speed}/s
            </option>
          ))}
        </select>
      </label>
    </>
  )
}

function TickField({ run }: { run: RunState }) {
  const entered = useSignal<string | undefined>(undefined)
  const isWrong = useSignal(false)
  return (
    <label class="row">
      <span class="muted">tick</span>
      <input
        id="tick-field"
        class="tick-field mono"
        inputMode="text"
        aria-label="Tick; +1000 jumps ahead"
        title="Go to a tick (t); +1000 jumps ahead"
        aria-invalid={isWrong.value}
        value={entered.value ?? whole(run.tick.value)}
        onFocus={event => event.currentTarget.select()}
        onInput={event => {
          entered.value = event.currentTarget.value
          isWrong.value = false
        }}
        onKeyDown={event => {
          if (event.key === 'Escape') event.currentTarget.blur()
          if (event.key !== 'Enter') return
          isWrong.value = !run.jump(event.currentTarget.value)
          if (!isWrong.value) event.currentTarget.blur()
        }}
        onBlur={() => {
          entered.value = undefined
          isWrong.value = false
        }}
      />
      <span class="muted nowrap">/ {whole(run.range.value?.tickEnd ?? 0)}</span>
    </label>
  )
}

function Scrubber({ run }: { run: RunState }) {
  const bar = useRef<HTMLDivElement>(null)
  const range = run.range.value
  if (range === null) return null
  const span = Math.max(1, range.tickEnd - range.tickStart)
  const share = (tick: number): number => ((tick - range.tickStart) / span) * 100
  const tickAt = (event: PointerEvent): number => {
    const { left, width } = (bar.current as Element).getBoundingClientRect()
    return range.tickStart + Math.min(1, Math.max(0, (event.clientX - left) / width)) * span
  }
  const crosshair = run.crosshair.value
  return (
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
        run.crosshair.value = Math.round(tickAt(event))
        if (event.buttons === 1) run.goTo(tickAt(event))
      }}
      onPointerLeave={() => {
        run.crosshair.value = undefined
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
      {crosshair !== undefined && crosshair >= range.tickStart && crosshair <= range.tickEnd && (
        <span class="crosshair" style={{ insetInlineStart: `${share(crosshair)}%` }}>
          <span class="small mono">{whole(crosshair)}</span>
        </span>
      )}
      <span class="playhead" style={{ insetInlineStart: `${share(run.tick.value)}%` }} />
    </div>
  )
}
