import { DEFAULT_LIMITS } from '../../contracts/limits.ts'
import { readPacked, writePacked } from '../../databases/packed-ticks.ts'
import { type PackingOptions, packedBytes, packingOf } from '../../databases/packing.ts'
import { refuseUnknown } from '../../options.ts'
import type { EnvironmentStrategy } from '../strategy.ts'

/** Per transaction: a few milliseconds. */
const TICKS_REMOVED = 200

/**
 * Strategy with one row per tick: the bytes of its cells as the simulation wrote them, compressed or not, and never
 * decoded.
 *
 * @example
 * const strategy = singleBlob({ compression: 'zstd', level: 6 })
 */
export function singleBlob(options: PackingOptions = {}): EnvironmentStrategy {
  refuseUnknown(options, ['compression', 'level'])
  const packing = packingOf(options)
  return {
    name: 'single-blob',
    async prepare({ database }, tx) {
      await database.environmentTicks.prepare(tx)
    },
    async write(ticks, tx, { database }) {
      await writePacked(database.environmentTicks, ticks, ({ cells }) => cells, packing, tx)
    },
    async read(tick, { database }) {
      return await readPacked(database.environmentTicks, tick, DEFAULT_LIMITS.maxTickBytes)
    },
    async readPacked(tick, { database }) {
      const packed = await database.environmentTicks.read(tick)
      return packed && packedBytes(packed)
    },
    async remove(ticks, tx, { database }) {
      return await database.environmentTicks.remove(ticks, TICKS_REMOVED, tx)
    },
    async range({ database }) {
      return await database.environmentTicks.range()
    },
  }
}
