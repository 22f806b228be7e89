import { effect, type Signal } from '@preact/signals'
import { type Frames, MissingTick } from './frames.ts'
import { historyOf, rowsBefore } from './history.ts'
import type { Frame } from './plane.ts'
import type { NearestTicks } from './run-shapes.ts'
import type { RunState } from './run-state.ts'

/** A tick that cannot be shown, and why. */
export type Trouble = {
  readonly tick: number
  readonly isMissing: boolean
  readonly detail: string
  readonly nearest?: NearestTicks | undefined
}

/**
 * Shows the requested tick as soon as its cells are loaded. While scrubbing, only the newest request counts, and one is
 * in flight at a time: the world follows the finger as fast as it can be loaded. The returned function ends it.
 */
export function showFrames(
  run: RunState,
  frames: Frames,
  frame: Signal<Frame | undefined>,
  trouble: Signal<Trouble | undefined>,
  isRow: boolean,
): () => void {
  let wanted = -1
  let isLoading = false
  let isOver = false
  const show = (found: Frame): void => {
    if (isOver) return
    frame.value = isRow ? historyOf(found, frames, run.interval.peek()) : found
    run.shown.value = found.tick
    trouble.value = undefined
    if (isRow) void loadRows(found.tick)
  }
  const loadRows = async (newest: number): Promise<void> => {
    const rows = rowsBefore(newest, run.range.peek()?.tickStart ?? 0, run.interval.peek())
    const absent = rows.filter(tick => !frames.has(tick) && !frames.isMissing(tick) && !run.isGap(tick))
    if (absent.length === 0) return
    await Promise.allSettled(absent.slice(0, 16).map(tick => frames.get(tick)))
    const again = isOver || run.shown.peek() !== newest ? undefined : frames.peek(newest)
    if (again !== undefined) show(again)
  }
  const load = async (): Promise<void> => {
    if (isLoading) return
    isLoading = true
    while (!isOver && frame.peek()?.tick !== wanted && trouble.peek()?.tick !== wanted) {
      const tick = wanted
      try {
        show(await frames.get(tick))
      } catch (error) {
        if (wanted !== tick || isOver) continue
        const isMissing = error instanceof MissingTick
        trouble.value = {
          tick,
          isMissing,
          detail: (error as Error).message,
          nearest: isMissing ? error.nearest : undefined,
        }
      }
    }
    isLoading = false
  }
  const end = effect(() => {
    if (run.range.value === null) return
    const tick = run.tick.value
    wanted = tick
    if (trouble.peek()?.tick !== tick) trouble.value = undefined
    const ready = frames.peek(tick)
    if (ready !== undefined) show(ready)
    else void load()
  })
  return () => {
    isOver = true
    end()
  }
}
