import { effect, signal } from '@preact/signals'
import { visibleCells, wrapped } from './camera.ts'
import type { Frame, PlaneChoice } from './plane.ts'
import type { RunState } from './run-state.ts'
import { sourceOf } from './source.ts'
import type { Spot } from './spot.ts'
import type { Stage } from './stage.ts'
import { loadTile } from './tiles.ts'

/** Cells of a part of a world, in full. */
export type Part = { readonly frame: Frame; readonly left: number; readonly top: number }

/** A view is loaded in full when it has been at rest for this long. */
const REST_MS = 200
const MOST_CELLS = 2 ** 20

/** Of a world that is drawn reduced: the cells in view themselves, where they are few enough. */
export class Detail {
  readonly part = signal<Part | undefined>(undefined)
  readonly #end: () => void
  #timer = 0
  #abort = new AbortController()

  constructor(run: RunState, stage: Stage, shape: readonly number[], plane: PlaneChoice) {
    const isReduced = sourceOf(shape, plane).kind === 'planes'
    this.#end = effect(() => {
      const [tick, camera, size] = [run.shown.value, stage.camera.value, stage.size.value]
      this.#cancel()
      if (this.part.peek()?.frame.tick !== tick) this.part.value = undefined
      if (!isReduced || camera === undefined || tick < 0 || size.width === 0 || run.isPlaying.value) return
      const { left, top, right, bottom } = visibleCells(camera, stage.world, size, stage.isTorus)
      const [width, height] = [right - left, bottom - top]
      if (width * height > MOST_CELLS || width > stage.world.width || height > stage.world.height) return
      const corner = (x: number, y: number): string =>
        shape.map((_, axis) => (axis === plane.x ? x : axis === plane.y ? y : (plane.fixed[axis] ?? 0))).join(',')
      const region = `${corner(left, top)}:${corner(right - 1, bottom - 1)}`
      const { signal: gone } = this.#abort
      this.#timer = setTimeout(() => {
        loadTile({ runId: run.runId, tick, region, wrap: stage.isTorus, width, height }, 'owner', gone).then(
          frame => {
            if (!gone.aborted) this.part.value = { frame, left, top }
          },
          () => undefined, // The reduced world stays.
        )
      }, REST_MS)
    })
  }

  close(): void {
    this.#cancel()
    this.#end()
  }

  #cancel(): void {
    clearTimeout(this.#timer)
    this.#abort.abort()
    this.#abort = new AbortController()
  }
}

/** The place of a cell in a part; undefined outside of it. */
export function placeIn({ frame, left, top }: Part, cell: Spot, world: Stage['world']): Spot | undefined {
  const [x, y] = [wrapped(cell.x - left, world.width), wrapped(cell.y - top, world.height)]
  return x < frame.width && y < frame.height ? { x, y } : undefined
}
