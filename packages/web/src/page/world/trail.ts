import { signal } from '@preact/signals'
import { lifeBetween } from './organisms.ts'
import type { PlaneChoice } from './plane.ts'
import type { RunState } from './run-state.ts'
import { spotOf } from './selection.ts'
import type { Spot } from './spot.ts'

const TICKS = 50

/** Where one organism has been: its last 50 ticks, by tick. */
export class Trail {
  readonly #spots = new Map<number, Spot>()
  readonly #run: RunState
  readonly changed = signal(0)
  #id: number | undefined
  #isAsking = false

  constructor(run: RunState) {
    this.#run = run
  }

  /** Where it was at a tick, as it is drawn. */
  add(id: number, tick: number, spot: Spot): void {
    if (id !== this.#id) {
      this.#spots.clear()
      this.#id = id
    }
    this.#spots.set(tick, spot)
    for (const old of this.#spots.keys()) if (Math.abs(old - tick) > 4 * this.#span()) this.#spots.delete(old)
  }

  /** Oldest first, up to the tick that is shown. */
  upTo(id: number, tick: number): Spot[] {
    if (id !== this.#id) return []
    return [...this.#spots]
      .filter(([at]) => at < tick && at >= tick - this.#span())
      .sort(([one], [other]) => one - other)
      .map(([, spot]) => spot)
  }

  /** Requests where it was before it was selected, unless enough of that is known. */
  async load(id: number, tick: number, plane: PlaneChoice): Promise<void> {
    const wanted = this.#span() / this.#run.interval.peek()
    if (this.#isAsking || this.upTo(id, tick).length >= wanted / 2) return
    this.#isAsking = true
    try {
      const life = await lifeBetween(this.#run.runId, id, Math.max(0, tick - this.#span()), tick)
      for (const moment of life) this.add(id, moment.tick, spotOf(moment.state.position, plane))
      this.changed.value++
    } catch {
      // Without its past the trail begins here.
    } finally {
      this.#isAsking = false
    }
  }

  #span = (): number => TICKS * this.#run.interval.peek()
}
