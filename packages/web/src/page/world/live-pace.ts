/** The view of a growing run stays this far behind its end: batches arrive every second or two. */
const BEHIND_S = 2.5
/** The rate is measured over this time. */
const MEASURED_MS = 10_000
/** The share of the distance to the right place that is made up per second. */
const CATCH_UP = 0.5
/** Further off than this, it jumps. */
const MOST_OFF_S = 6

/** Ticks a second until the pace is known: whoever opens a world sees it move at once. */
const ASSUMED = 25

type Mark = { readonly tick: number; readonly atMs: number }

/**
 * How a growing run is followed. Its end moves by whole batches; this moves evenly, at the run's own rate, a little
 * behind the end, so that organisms walk instead of jumping.
 */
export class LivePace {
  #marks: Mark[] = []
  #place: number | undefined
  #lastMs = 0

  /** The end of the run, as just reported. */
  saw(tick: number, atMs: number): void {
    const last = this.#marks.at(-1)
    if (last !== undefined && tick <= last.tick) {
      if (tick < last.tick) this.#marks = []
      else return
    }
    this.#marks.push({ tick, atMs })
    while ((this.#marks[1]?.atMs ?? atMs) < atMs - MEASURED_MS) this.#marks.shift()
  }

  /** Ticks per second; 0 while it is unknown, and when the run has stopped growing. */
  perSecond(nowMs: number): number {
    const [first] = this.#marks
    const last = this.#marks.at(-1)
    if (first === undefined || last === undefined || first === last) return 0
    if (nowMs - last.atMs > MEASURED_MS) return 0
    return ((last.tick - first.tick) / (last.atMs - first.atMs)) * 1000
  }

  /** The tick to show now. */
  tickAt(nowMs: number): number {
    const end = this.#marks.at(-1)
    if (end === undefined) return 0
    const isNew = this.#marks.length === 1 && nowMs - end.atMs < MEASURED_MS
    const rate = isNew ? ASSUMED : this.perSecond(nowMs)
    const elapsed = Math.min(0.25, (nowMs - this.#lastMs) / 1000)
    this.#lastMs = nowMs
    const target = rate === 0 ? end.tick : end.tick + rate * ((nowMs - end.atMs) / 1000 - BEHIND_S)
    const place = this.#place
    const isFarOff = place === undefined || Math.abs(target - place) > Math.max(1, rate * MOST_OFF_S)
    const moved = isFarOff ? target : place + Math.max(0, elapsed * (rate + CATCH_UP * (target - place)))
    // If nothing grows any more, the last ticks are shown as well.
    const drained =
      rate === 0 && !isFarOff ? Math.min(end.tick, place + Math.max(1, (end.tick - place) * elapsed)) : moved
    this.#place = Math.min(end.tick, drained)
    return this.#place
  }

  /** Where the view was before it is followed again does not matter. */
  restart(): void {
    this.#place = undefined
  }
}
