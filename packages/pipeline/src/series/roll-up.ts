import { contiguous, type Span } from '../databases/contiguous.ts'
import type { SeriesRow, SeriesRows } from '../databases/series-rows.ts'
import type { Transaction } from '../databases/transaction.ts'
import { bucketOf, bucketSize, FACTOR, TOP_LEVEL } from './levels.ts'
import { addUp } from './sums.ts'

/** Buckets rolled up at once, to limit memory for flushes with many ticks. */
const MOST_AT_ONCE = 500

/**
 * Recomputes every bucket that contains one of these ticks from all rows below it. Nothing is added to a bucket, so a
 * tick that arrives again or late counts once.
 */
export async function rollUp(
  rows: SeriesRows,
  ticks: readonly number[],
  samplingInterval: number,
  tx: Transaction,
): Promise<void> {
  await rows.lock(tx)
  for (let level = 1; level <= TOP_LEVEL; level++) {
    const touched = contiguous(ticks.map(tick => bucketOf(tick, level, samplingInterval)))
    for (const buckets of touched.flatMap(pieces)) {
      const below = await rows.readIn(tx, level - 1, childrenOf(buckets, level, samplingInterval))
      await rows.write(summedUp(below, level, samplingInterval), tx)
    }
  }
}

/** On level 0 the buckets are numbered by their ticks. */
function childrenOf({ first, last }: Span, level: number, samplingInterval: number): Span {
  const each = level === 1 ? bucketSize(1, samplingInterval) : FACTOR
  return { first: first * each, last: (last + 1) * each - 1 }
}

function summedUp(below: readonly SeriesRow[], level: number, samplingInterval: number): SeriesRow[] {
  const byBucket = Map.groupBy(below, ({ firstTick }) => bucketOf(firstTick, level, samplingInterval))
  return [...byBucket].map(([bucket, rows]) => ({ level, bucket, ...addUp(rows) }))
}

function pieces({ first, last }: Span): Span[] {
  const found: Span[] = []
  for (let at = first; at <= last; at += MOST_AT_ONCE) {
    found.push({ first: at, last: Math.min(last, at + MOST_AT_ONCE - 1) })
  }
  return found
}
