import type { EncodedTick } from '../contracts/tick-codec.ts'
import { requireRunId } from '../run-id.ts'
import { InvalidBatchError } from './errors.ts'
import type { TickBatch } from './storage.ts'

/**
 * Batch of ticks that are in memory.
 *
 * @example
 * await storage.writeBatch(batchOf([encodeTick(tick)]))
 */
export function batchOf(ticks: readonly EncodedTick[]): TickBatch {
  const first = ticks[0]
  const last = ticks.at(-1)
  if (first === undefined || last === undefined) throw new InvalidBatchError('there are none')
  const batch = { runId: first.runId, tickStart: first.tick, tickEnd: last.tick, tickCount: ticks.length, ticks }
  const order = new BatchOrder(batch)
  for (const tick of ticks) order.next(tick)
  order.end()
  return batch
}

/** Checks arriving ticks against the batch's description: one run, ascending, first, last and count. */
export class BatchOrder {
  readonly #batch: Omit<TickBatch, 'ticks'>
  #count = 0
  #previous = -1

  constructor(batch: Omit<TickBatch, 'ticks'>) {
    const { runId, tickStart, tickEnd, tickCount } = batch
    requireRunId(runId)
    const isRange = [tickStart, tickEnd].every(tick => Number.isSafeInteger(tick) && tick >= 0)
    if (!isRange || !Number.isSafeInteger(tickCount) || tickCount < 1 || tickCount > tickEnd - tickStart + 1) {
      throw new InvalidBatchError(`${tickCount} ticks can't be from ${tickStart} to ${tickEnd}`)
    }
    this.#batch = batch
  }

  next({ runId, tick }: { readonly runId: string; readonly tick: number }): void {
    const batch = this.#batch
    if (runId !== batch.runId)
      throw new InvalidBatchError(`tick ${tick} belongs to run ${runId}, other ticks to ${batch.runId}`)
    if (this.#count === 0 && tick !== batch.tickStart) {
      throw new InvalidBatchError(`the first tick is ${tick}, not ${batch.tickStart}`)
    }
    if (tick <= this.#previous) throw new InvalidBatchError(`tick ${tick} comes after ${this.#previous}`)
    this.#previous = tick
    this.#count++
  }

  end(): void {
    const { tickCount, tickEnd } = this.#batch
    if (this.#count !== tickCount) throw new InvalidBatchError(`there are ${this.#count} ticks, not ${tickCount}`)
    if (this.#previous !== tickEnd) throw new InvalidBatchError(`the last tick is ${this.#previous}, not ${tickEnd}`)
  }
}
