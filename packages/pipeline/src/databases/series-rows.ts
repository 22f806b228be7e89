import type { Span } from './contiguous.ts'
import type { Transaction } from './transaction.ts'

/** Sums over the ticks of one bucket. On level 0 a bucket is one tick, and its number is that of the tick. */
export type SeriesRow = {
  readonly level: number
  readonly bucket: number
  readonly firstTick: number
  readonly ticks: number
  readonly alive: number
  readonly births: number
  readonly deaths: number
  readonly energy: number
  /** Cells by molecule type, without trailing zeros. */
  readonly cells: readonly number[]
  /** Least and largest of a tick of the bucket; null: of one tick, or of a row of before these were kept. */
  readonly extremes: SeriesExtremes | null
}

/** Figures of a tick. */
export type TickFigures = {
  readonly alive: number
  readonly births: number
  readonly deaths: number
  readonly meanEnergy: number
}

export type SeriesExtremes = { readonly min: TickFigures; readonly max: TickFigures }

/** Rows of the series, per tick and rolled up. Results are null or empty while the table does not exist. */
export type SeriesRows = {
  /** Creates the table if it does not exist. */
  prepare(tx: Transaction): Promise<void>
  /** Until the end of the transaction nobody else rolls up, and everything that others have committed is visible. */
  lock(tx: Transaction): Promise<void>
  write(rows: readonly SeriesRow[], tx: Transaction): Promise<void>
  /** Removes at most the given number of buckets of a level below this one; returns the number removed. */
  removeBelow(level: number, bucket: number, limit: number, tx: Transaction): Promise<number>
  /** The lowest bucket first. */
  readIn(tx: Transaction, level: number, buckets: Span): Promise<SeriesRow[]>
  read(level: number, buckets: Span): Promise<SeriesRow[]>
  /** First and last bucket of a level. */
  span(level: number): Promise<Span | null>
}

/** As the engines return it: the cells and the extremes are JSON. */
export type StoredSeries = Omit<SeriesRow, 'cells' | 'extremes'> & {
  readonly cells: string
  readonly extremes: string | null
}

export const seriesOf = (row: StoredSeries): SeriesRow => ({
  ...row,
  cells: JSON.parse(row.cells),
  extremes: row.extremes && JSON.parse(row.extremes),
})
