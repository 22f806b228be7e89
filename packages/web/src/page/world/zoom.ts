import { effect, signal } from '@preact/signals'
import { at, get } from '../http.ts'
import type { SeriesPoint } from './run-shapes.ts'
import type { RunState } from './run-state.ts'

const POINTS = 600

/** The part of the series that the charts show: all of it, or a span in finer steps. */
export class Zoom {
  readonly span = signal<readonly [number, number] | undefined>(undefined)
  readonly points = signal<readonly SeriesPoint[]>([])
  readonly #run: RunState
  readonly #end: () => void

  constructor(run: RunState) {
    this.#run = run
    this.#end = effect(() => {
      if (this.span.value === undefined) this.points.value = run.series.value
    })
  }

  /** What is known of the span is shown at once, the finer steps when they are loaded. */
  set(span: readonly [number, number] | undefined): void {
    if (span === undefined) {
      this.span.value = undefined
      return
    }
    const asked = [Math.max(0, Math.floor(span[0])), Math.ceil(span[1])] as const
    this.points.value = this.points.value.filter(({ tick }) => tick >= asked[0] && tick <= asked[1])
    this.span.value = asked
    get<{ points: SeriesPoint[] }>(`${at('runs', this.#run.runId)}/series`, {
      query: { from: asked[0], to: asked[1], points: POINTS },
    }).then(
      ({ points }) => {
        if (this.span.value === asked && points.length > 0) this.points.value = points
      },
      () => undefined, // The coarse points stay.
    )
  }

  close(): void {
    this.#end()
  }
}
