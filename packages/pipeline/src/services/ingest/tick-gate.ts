import { DEFAULT_LIMITS } from '../../contracts/limits.ts'
import type { SimulationMetadata } from '../../contracts/tick.ts'
import { type EncodedTick, verifyTick, worldSizeOf } from '../../contracts/tick-codec.ts'
import { TickRefusedError } from './errors.ts'

/** Options of reading ticks. */
export type TickGateOptions = {
  /** Run whose ticks are accepted (default: the run of the first tick). */
  readonly runId?: string | undefined
  /** Returns the metadata of a run, or null if it is unknown; the size of its world is then not checked. */
  readonly metadataOf?: (runId: string) => Promise<SimulationMetadata | null>
  /** Maximum bytes of a tick. */
  readonly maxTickBytes?: number
}

/** Checks the ticks of one input, so that nothing gets in that would block or poison a batch later. */
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
