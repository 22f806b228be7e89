import { DEFAULT_LIMITS } from '../../contracts/limits.ts'
import type { SimulationMetadata } from '../../contracts/tick.ts'
import { type EncodedTick, verifyTick, worldSizeOf } from '../../contracts/tick-codec.ts'
import { TickRefusedError } from './errors.ts'

export type TickGateOptions = {
  /** The run whose ticks are taken. Default: that of the first tick. */
  readonly runId?: string | undefined
  /** What is known of that run; null: nothing yet, and then nobody knows how large its world is. */
  readonly metadataOf?: (runId: string) => Promise<SimulationMetadata | null>
  readonly maxTickBytes?: number
}

/** The door of one input: what would stop or poison a batch later does not get in. */
export class TickGate {
  readonly #metadataOf: (runId: string) => Promise<SimulationMetadata | null>
  readonly #maxTickBytes: number
  #runId: string | undefined
  #worldSize: number | undefined

  constructor({ runId, metadataOf = async () => null, maxTickBytes = DEFAULT_LIMITS.maxTickBytes }: TickGateOptions) {
    this.#runId = runId
    this.#metadataOf = metadataOf
    this.#maxTickBytes = maxTickBytes
  }

  /** Rejects with a `ContractError`, a `LimitError` or a `TickRefusedError`. */
  async admit(bytes: Uint8Array): Promise<EncodedTick> {
    const limits = { ...DEFAULT_LIMITS, maxTickBytes: this.#maxTickBytes }
    const tick = verifyTick(bytes, this.#worldSize, limits)
    this.#runId ??= tick.runId
    if (tick.runId !== this.#runId) {
      throw new TickRefusedError(`tick ${tick.tick} belongs to run ${tick.runId}; this input is for run ${this.#runId}`)
    }
    if (this.#worldSize !== undefined) return tick
    const metadata = await this.#metadataOf(tick.runId)
    if (metadata === null) return tick
    this.#worldSize = worldSizeOf(metadata.environment)
    return verifyTick(bytes, this.#worldSize, limits)
  }
}
