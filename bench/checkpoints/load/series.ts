import { percentile } from '../../statistics.ts'
import { monotonicMs } from '../../topics/monotonic.ts'

/** Values with the time they were reported, so that the phases of a run can be compared. */
export class Series {
  readonly #at: number[] = []
  readonly #values: number[] = []

  add(values: readonly number[]): void {
    const now = monotonicMs()
    for (const value of values) {
      this.#at.push(now)
      this.#values.push(value)
    }
  }

  between(from: number, to = Number.POSITIVE_INFINITY): number[] {
    return this.#values.filter((_, index) => {
      const at = this.#at[index] ?? 0
      return at >= from && at <= to
    })
  }

  entries(from: number, to: number): { readonly at: number; readonly value: number }[] {
    return this.#at.flatMap((at, index) => (at >= from && at <= to ? [{ at, value: this.#values[index] ?? 0 }] : []))
  }

  /** NaN if nothing was reported in that time. */
  p95(from = 0, to?: number): number {
    const values = this.between(from, to)
    return values.length === 0 ? Number.NaN : percentile(values, 0.95)
  }
}
