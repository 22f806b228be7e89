import { effect } from '@preact/signals'
import type { Frames } from './frames.ts'
import type { RunState } from './run-state.ts'

/** Two seconds of frames are kept ahead. */
const AHEAD_S = 2
const MOST_AHEAD = 120
/** More frames per second than this look no smoother, and cost requests. */
const MOST_FRAMES_A_SECOND = 30
/** The actual speed is measured over this many frames. */
const MEASURED = 20

/**
 * Advances the tick while the run plays or is followed live. If frames arrive more slowly than they are played it waits
 * for them instead of jumping, and says so. The returned function ends it.
 */
export function play(run: RunState, frames: Frames): () => void {
  let animation = 0
  const isStill = matchMedia('(prefers-reduced-motion: reduce)')
  const end = effect(() => {
    cancelAnimationFrame(animation)
    run.slowedTo.value = undefined
    const turn = run.isLive.value
      ? live(run, frames, isStill.matches)
      : run.isPlaying.value
        ? recorded(run, frames)
        : undefined
    if (turn === undefined) return
    const loop = (time: number): void => {
      animation = requestAnimationFrame(loop)
      turn(time)
    }
    animation = requestAnimationFrame(loop)
  })
  return () => {
    cancelAnimationFrame(animation)
    end()
  }
}

/** The ticks between two frames, so that there are not too many per second. */
function strideOf(run: RunState, ticksPerSecond: number): number {
  const interval = run.interval.peek()
  return interval * Math.max(1, Math.ceil(ticksPerSecond / interval / MOST_FRAMES_A_SECOND))
}

/** At the run's own rate, a little behind its end. With reduced motion: its end, whenever that moves. */
function live(run: RunState, frames: Frames, isStill: boolean): (time: number) => void {
  return time => {
    const range = run.range.peek()
    if (range === null) return
    if (isStill) {
      run.tick.value = range.tickEnd
      return
    }
    const stride = strideOf(run, run.pace.perSecond(time))
    const place = Math.max(range.tickStart, run.pace.tickAt(time))
    const tick = Math.min(range.tickEnd, range.tickStart + Math.floor((place - range.tickStart) / stride) * stride)
    const wanted = [tick]
    for (let next = tick + stride; next <= range.tickEnd && wanted.length < MOST_AHEAD; next += stride)
      wanted.push(next)
    frames.prefetch(wanted)
    // A late frame is not waited for: the next loaded one is shown.
    if (run.shown.peek() < 0 || frames.has(tick)) run.tick.value = tick
  }
}

function recorded(run: RunState, frames: Frames): (time: number) => void {
  let last = 0
  let owed = 0
  let waited = 0
  const drawn: number[] = []
  return time => {
    const elapsed = last === 0 ? 0 : Math.min(0.25, (time - last) / 1000)
    last = time
    const speed = run.speed.peek()
    const stride = strideOf(run, speed)
    const wanted = run
      .ahead(Math.min(MOST_AHEAD, Math.max(4, Math.ceil((speed * AHEAD_S) / stride))), stride)
      .filter(tick => !frames.isMissing(tick))
    frames.prefetch(wanted)
    const [next] = wanted
    if (next === undefined) {
      run.isPlaying.value = false
      return
    }
    owed += elapsed * speed
    const due = Math.max(stride, next - run.tick.peek())
    if (owed < Math.min(stride, due)) return
    if (!frames.has(next)) {
      owed = stride
      waited += elapsed
      if (waited > 0.25) run.slowedTo.value = paceOf(drawn, stride)
      return
    }
    waited = Math.max(0, waited - elapsed)
    if (waited === 0) run.slowedTo.value = undefined
    owed = Math.min(owed - stride, stride)
    run.tick.value = next
    drawn.push(time)
    if (drawn.length > MEASURED) drawn.shift()
  }
}

const paceOf = (drawn: readonly number[], stride: number): number => {
  const [first = 0] = drawn
  const span = (drawn.at(-1) ?? 0) - first
  return span <= 0 ? 0 : Math.round((((drawn.length - 1) * stride) / span) * 1000)
}
