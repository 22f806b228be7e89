import type { Duration } from 'tidemark'
import { countCells } from '../../contracts/cell-codec.ts'
import { parseDuration } from '../../duration.ts'
import { singleBlob } from '../../environment/strategies/single-blob.ts'
import { type EnvironmentStrategy, settingsText } from '../../environment/strategy.ts'
import { RateWindow } from '../../metrics/rate-window.ts'
import { refuseUnknown } from '../../options.ts'
import { defineIndexer, type IndexerDefinition } from './definition.ts'

/** Options of the environment indexer. */
export type EnvironmentIndexerOptions = {
  /** How cells are stored (default `singleBlob()`). */
  readonly strategy?: EnvironmentStrategy
  /** Time over which the rate of cells is computed (default '1m'). */
  readonly metricsWindow?: Duration
}

/**
 * Indexer that stores the cells of every tick. Create one definition per instance, because it counts. The index
 * records which strategy wrote which ticks, so that you can switch to another strategy.
 *
 * @example
 * const definition = environmentIndexer({ strategy: singleBlob({ compression: 'none' }) })
 */
export function environmentIndexer(options: EnvironmentIndexerOptions = {}): Required<IndexerDefinition> {
  refuseUnknown(options, ['strategy', 'metricsWindow'])
  const { strategy = singleBlob(), metricsWindow = '1m' } = options
  const rate = new RateWindow({ windowMs: parseDuration('metricsWindow', metricsWindow, { min: 1 }) })
  let cellsIndexed = 0
  return defineIndexer({
    name: 'environment',

    async prepare(run, tx) {
      await strategy.prepare(run, tx)
      await run.database.environmentWritten.prepare(tx)
    },

    async flush(ticks, tx, { run }) {
      await strategy.write(ticks, tx, run)
      const numbers = ticks.map(({ tick }) => tick)
      const range = { tickStart: Math.min(...numbers), tickEnd: Math.max(...numbers) }
      const settings = settingsText(strategy)
      await run.database.environmentWritten.record({ strategy: strategy.name, settings, ...range }, tx)
    },

    flushed(ticks) {
      const cells = ticks.reduce((sum, tick) => sum + countCells(tick.cells), 0)
      cellsIndexed += cells
      rate.add(cells)
    },

    async remove(ticks, tx, run) {
      return (await strategy.remove?.(ticks, tx, run)) ?? 0
    },

    metrics: () => ({ cellsIndexed, cellsPerSecond: rate.perSecond() }),
  })
}
