import type { Span } from './contiguous.ts'
import type { Transaction } from './transaction.ts'

/** Sums over the ticks of one bucket. On level 0 a bucket is one tick, and its number is the tick's. */
export type SeriesRow = {
  readonly level: number
  readonly bucket: number
  readonly firstTick: number
  readonly ticks: number
  readonly alive: number
  readonly births: number
  readonly deaths: number
  readonly energy: number
  /** By molecule type, without zeros at its end. */
  readonly cells: readonly number[]
}

/** The series' rows, of ticks and rolled up. What is read is null or empty where the table isn't there yet. */
export type SeriesRows = {
  /** Makes the table where it isn't there. */
  prepare(tx: Transaction): Promise<void>
  /** From here to the end of the transaction nobody else rolls up, and all that others have committed is seen. */
  lock(tx: Transaction): Promise<void>
  write(rows: readonly SeriesRow[], tx: Transaction): Promise<void>
  /** Removes at most the given number of buckets of a level below this one; returns the number removed. */
  removeBelow(level: number, bucket: number, limit: number, tx: Transaction): Promise<number>
  /** Lowest bucket first. */
  readIn(tx: Transaction, level: number, buckets: Span): Promise<SeriesRow[]>
  read(level: number, buckets: Span): Promise<SeriesRow[]>
  /** First and last bucket of a level. */
  span(level: number): Promise<Span | null>
}

/** As the engines give it: the cells are JSON there. */
export type StoredSeries = Omit<SeriesRow, 'cells'> & { readonly cells: string }

export const seriesOf = (row: StoredSeries): SeriesRow => ({ ...row, cells: JSON.parse(row.cells) })
