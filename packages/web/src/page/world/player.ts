import { effect } from '@preact/signals'
import type { Frames } from './frames.ts'
import type { RunState } from './run-state.ts'

/** Seconds of frames loaded ahead. */
const AHEAD_S = 2
const MOST_AHEAD = 120

/**
 * Advances the tick while the run plays. If frames arrive more slowly than they are played it waits for them instead of
 * jumping, and says so. The returned function ends it.
 */
export function play(run: RunState, frames: Frames): () => void {
  let animation = 0
  let last = 0
  let owed = 0
  const turn = (time: number): void => {
    animation = requestAnimationFrame(turn)
    const elapsed = last === 0 ? 0 : Math.min(0.25, (time - last) / 1000)
    last = time
    const wanted = run.ahead(Math.min(MOST_AHEAD, Math.max(4, run.speed.value * AHEAD_S)))
    frames.prefetch(wanted)
    const [next] = wanted
    if (next === undefined) {
      run.isPlaying.value = false
      return
    }
    owed += elapsed * run.speed.value
    if (owed < 1) return
    // Faster than the screen: some are skipped, but only to one that is loaded.
    const due = wanted.slice(0, Math.floor(owed))
    const ready = due.findLast(tick => frames.peek(tick) !== undefined)
    run.isStarved.value = ready === undefined
    if (ready === undefined) {
      owed = 1
      return
    }
    owed -= Math.floor(owed)
    run.tick.value = ready
  }
  const end = effect(() => {
    cancelAnimationFrame(animation)
    last = 0
    if (run.isPlaying.value) animation = requestAnimationFrame(turn)
    else run.isStarved.value = false
  })
  return () => {
    cancelAnimationFrame(animation)
    end()
  }
}
