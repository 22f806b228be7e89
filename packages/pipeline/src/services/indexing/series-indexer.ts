import { setImmediate as nextTurn } from 'node:timers/promises'
import type { RawTick } from '../../contracts/tick-codec.ts'
import type { SeriesRow } from '../../databases/series-rows.ts'
import { bucketOf, bucketSize, TOP_LEVEL } from '../../series/levels.ts'
import { sumsOfTick } from '../../series/of-tick.ts'
import { rollUp } from '../../series/roll-up.ts'
import { defineIndexer } from './definition.ts'

/** Ticks aggregated and written before yielding to the event loop. */
const SLICE_TICKS = 50
const ROWS_REMOVED = 1_000

/**
 * Indexer that stores time series of every tick, at several resolutions: organisms alive, births, deaths, energy,
 * and cells by type.
 *
 * @example
 * const indexer = new BatchIndexer(seriesIndexer, { source: topicSource(tm), storage, index: 'sqlite:./data/index', runId: run })
 */
export const seriesIndexer = defineIndexer({
  name: 'series',

  async prepare({ database }, tx) {
    await database.series.prepare(tx)
  },

  async flush(ticks, tx, { run: { database, metadata } }) {
    const samplingInterval = metadata?.samplingInterval ?? 1
    const sorted = ticks.toSorted((a, b) => a.tick - b.tick)
    for (let at = 0; at < sorted.length; at += SLICE_TICKS) {
      const slice = sorted.slice(at, at + SLICE_TICKS)
      await database.series.write(
        slice.map(tick => rowOf(tick, samplingInterval)),
        tx,
      )
      await nextTurn()
    }
    const numbers = sorted.map(({ tick }) => tick)
    await rollUp(database.series, numbers, samplingInterval, tx)
  },

  /**
   * A row is removed once the bucket above it is complete and removed ticks have passed it: until then that bucket may
   * be rolled up from it again.
   */
  async remove({ tickStart, tickEnd }, tx, { database, metadata }) {
    // Buckets have no holes: ticks retained between two removed ranges keep the rows above them.
    if (tickStart > 0) return 0
    const samplingInterval = metadata?.samplingInterval ?? 1
    await database.series.lock(tx)
    let removed = 0
    for (let level = 0; level <= TOP_LEVEL; level++) {
      const above = Math.min(level + 1, TOP_LEVEL)
      const behind = bucketOf(tickEnd + 1, above, samplingInterval) * bucketSize(above, samplingInterval)
      const bucket = level === 0 ? behind : bucketOf(behind, level, samplingInterval)
      removed += await database.series.removeBelow(level, bucket, ROWS_REMOVED, tx)
    }
    return removed
  },
})

const rowOf = (tick: RawTick, samplingInterval: number): SeriesRow => ({
  level: 0,
  bucket: tick.tick,
  ...sumsOfTick(tick, samplingInterval),
})
