import type { ConsumerMeter } from '../observe/metrics/consumer-meter.ts'
import type { Duration } from '../options/duration.ts'
import type { RawMessage } from '../payload/raw-message.ts'
import type { Runtime } from '../runtime.ts'
import { LeasedDelivery } from './delivery.ts'
import type { HeldLease } from './held-lease.ts'

/** A delivery held by a reader; its work is done when it is settled. */
export class ReadDelivery<T> extends LeasedDelivery<T> {
  readonly #meter: ConsumerMeter
  readonly #startedAt = performance.now()

  constructor(runtime: Runtime, held: HeldLease, index: number, raw: RawMessage, payload: T, meter: ConsumerMeter) {
    super(runtime, held, index, raw, payload)
    this.#meter = meter
  }

  override async ack(): Promise<void> {
    await this.#counted(() => super.ack())
  }

  override async nack(error?: unknown, given?: { delay?: Duration }): Promise<void> {
    await this.#counted(() => super.nack(error, given))
  }

  /** Counted once, and only if the database accepted it. */
  async #counted(settle: () => Promise<void>): Promise<void> {
    const isFirst = !this.settled
    const ms = performance.now() - this.#startedAt
    await settle()
    if (isFirst) this.#meter.settled(this.failed, ms)
  }
}
