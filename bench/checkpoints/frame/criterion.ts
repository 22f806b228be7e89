/** One condition that must hold, with the figure that was measured. */
export type Criterion = {
  /** What is judged, such as 'LT-1: claim p95'. */
  readonly name: string
  readonly passed: boolean
  /** The measured figure, for people. */
  readonly figure: string
  /** The limit, for people. */
  readonly limit: string
  readonly value: number | boolean | null
  /** How it was measured, or how it differs from the specification's wording and why. */
  readonly note: string | null
}

type Measured = { readonly name: string; readonly value: number | null; readonly unit?: Unit; readonly note?: string }
type Unit = '' | '%' | 'ms' | 's' | '/s' | 'MB' | 'MB/s' | 'B' | '×'

/** A figure that was not reached in time is null, and fails. */
export const below = (limit: number, measured: Measured): Criterion => compare('<', limit, measured)
export const atMost = (limit: number, measured: Measured): Criterion => compare('≤', limit, measured)
export const above = (limit: number, measured: Measured): Criterion => compare('>', limit, measured)
export const atLeast = (limit: number, measured: Measured): Criterion => compare('≥', limit, measured)

/** A fact, with what was seen. */
export function holds(
  passed: boolean,
  { name, figure, limit = 'yes', note }: { name: string; figure: string; limit?: string; note?: string },
): Criterion {
  return { name, passed, figure, limit, value: passed, note: note ?? null }
}

type Comparison = '<' | '≤' | '>' | '≥'

function compare(sign: Comparison, limit: number, { name, value, unit = '', note }: Measured): Criterion {
  return {
    name,
    passed: value !== null && isMet(sign, value, limit),
    figure: value === null ? 'not reached' : formatFigure(value, unit),
    limit: `${sign} ${formatFigure(limit, unit)}`,
    value,
    note: note ?? null,
  }
}

function isMet(sign: Comparison, value: number, limit: number): boolean {
  if (sign === '<') return value < limit
  if (sign === '≤') return value <= limit
  return sign === '>' ? value > limit : value >= limit
}

/** Three digits, or whole numbers with separators. */
function formatFigure(value: number, unit: Unit): string {
  const number =
    Number.isInteger(value) || Math.abs(value) >= 1_000
      ? Math.round(value).toLocaleString('en-US')
      : String(Number(value.toPrecision(3)))
  if (unit === '') return number
  return unit === '/s' || unit === '×' ? `${number}${unit}` : `${number} ${unit}`
}
