import { median } from './statistics.ts'

/** One line of the table: what was measured, next to the limit measured in the same run. */
export type Figure = {
  readonly case: string
  readonly engine: string
  readonly ours: number
  /** What it is compared with; null where there is nothing to compare. */
  readonly raw: number | null
  readonly unit: Unit
  readonly ratio: number | null
  /** For people: 'ratio ≥ 0.5'; null where there is no target. */
  readonly target: string | null
  readonly met: boolean | null
  /** How it was measured, where the name does not say it. */
  readonly note: string | null
  /** Every sample that a median was taken of. */
  readonly samples: Samples | null
}

export type Unit = '/s' | 'ms' | 'MB' | 'B/msg' | 'rows/msg' | 'rows'
type Samples = { readonly [side: string]: readonly number[] }

export type Target = {
  readonly text: string
  readonly isMet: (ours: number, ratio: number | null) => boolean
}

export const ratioAtLeast = (least: number): Target => ({
  text: `ratio ≥ ${least}`,
  isMet: (_ours, ratio) => ratio !== null && ratio >= least,
})

export const ratioAtMost = (most: number): Target => ({
  text: `ratio ≤ ${most}`,
  // Nothing is at most anything, also next to nothing, where there is no ratio.
  isMet: (ours, ratio) => ours === 0 || (ratio !== null && ratio <= most),
})

export const atMost = (most: number, unit: Unit): Target => ({
  text: `≤ ${most} ${unit}`,
  isMet: ours => ours <= most,
})

type Measured = {
  readonly case: string
  readonly engine: string
  readonly ours: number
  readonly raw?: number
  readonly unit: Unit
  readonly target?: Target
  readonly note?: string
  readonly samples?: Samples
}

export function figure({ raw, target, note, samples, ...measured }: Measured): Figure {
  const ratio = raw === undefined || raw === 0 ? null : (medianRatio(samples) ?? measured.ours / raw)
  return {
    ...measured,
    raw: raw ?? null,
    ratio,
    target: target?.text ?? null,
    met: target === undefined ? null : target.isMet(measured.ours, ratio),
    note: note ?? null,
    samples: samples ?? null,
  }
}

/**
 * Median ratio of each round's two sides, measured one after the other, because the machine may be faster in one round than
 * in another.
 */
function medianRatio(samples: Samples | undefined): number | undefined {
  const { raw = [], ours = [] } = samples ?? {}
  if (raw.length === 0 || raw.length !== ours.length) return undefined
  return median(ours.map((each, round) => each / (raw[round] ?? each)))
}
