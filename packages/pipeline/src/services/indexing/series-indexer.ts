import { setImmediate as nextTurn } from 'node:timers/promises'
import type { RawTick } from '../../contracts/tick-codec.ts'
import type { SeriesRow } from '../../databases/series-rows.ts'
import { sumsOfTick } from '../../series/of-tick.ts'
import { rollUp } from '../../series/roll-up.ts'
import { defineIndexer } from './definition.ts'

/** Ticks summed up and written before others on this thread get their turn. */
const SLICE_TICKS = 50

/** What people plot of every tick, at every resolution: organisms alive, births, deaths, energy, cells by type. */
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
})

const rowOf = (tick: RawTick, samplingInterval: number): SeriesRow => ({
  level: 0,
  bucket: tick.tick,
  ...sumsOfTick(tick, samplingInterval),
})
