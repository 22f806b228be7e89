import { CodedError } from 'tidemark'
import { verifyCells } from '../../contracts/cell-codec.ts'
import { DEFAULT_LIMITS } from '../../contracts/limits.ts'
import type { SimulationMetadata } from '../../contracts/tick.ts'
import { type RawTick, worldSizeOf } from '../../contracts/tick-codec.ts'

/** The size of the world is unknown. */
const UNKNOWN_SIZE = 0

/** Keyed by their bytes, which the indexers of a process share: the first one verifies, the others rely on it. */
const verified = new WeakMap<Uint8Array, number>()

/**
 * Verifies cells of ticks that bypassed the ingest, or were stored before it checked them. Invalid organisms are found
 * when they are decoded.
 */
export function verifyOnce(
  batch: string,
  { tick, cells }: RawTick,
  bytes: Uint8Array,
  metadata: SimulationMetadata | null,
): void {
  const size = metadata === null ? UNKNOWN_SIZE : worldSizeOf(metadata.environment)
  if (verified.get(bytes) === size) return
  refusing(batch, tick, () => verifyCells(cells, DEFAULT_LIMITS, size === UNKNOWN_SIZE ? undefined : size))
  verified.set(bytes, size)
}

/** A fault of a tick is a fault of its batch. */
export function refusing<T>(batch: string, tick: number, look: () => T): T {
  try {
    return look()
  } catch (error) {
    throw new BatchRefusedError(batch, tick, error as Error)
  }
}

/** The file is complete, but a tick in it does not belong to the world of this run. A retry would fail again. */
export class BatchRefusedError extends CodedError {
  /** Storage key of the batch. */
  readonly batch: string
  /** Number of the tick. */
  readonly tick: number

  constructor(batch: string, tick: number, cause: Error) {
    super('TIDEMARK_BATCH_REFUSED', `Batch ${batch} is refused: tick ${tick}: ${cause.message}`, cause)
    this.batch = batch
    this.tick = tick
  }
}
