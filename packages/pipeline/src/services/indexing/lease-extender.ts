import { StaleDeliveryError } from 'tidemark'
import { StaleClaimError } from '../../ledger/errors.ts'

/** A claimed batch, or anything else under a lease. */
export type Extendable = { readonly key: string; extend(): Promise<void> }

/** Keeps claimed batches from being redelivered while they are buffered or a flush takes long. */
export class LeaseExtender implements Disposable {
  readonly #batches = new Set<Extendable>()
  /** Batches whose last extension failed: an outage is reported once. */
  readonly #failing = new Set<Extendable>()
  readonly #note: (action: string, error: unknown) => void
  readonly #timer: NodeJS.Timeout

  constructor(everyMs: number, note: (action: string, error: unknown) => void) {
    this.#note = note
    this.#timer = setInterval(() => this.#extend(), everyMs)
    this.#timer.unref()
  }

  add(batch: Extendable): void {
    this.#batches.add(batch)
  }

  delete(batch: Extendable): void {
    this.#batches.delete(batch)
    this.#failing.delete(batch)
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }

  #extend(): void {
    for (const batch of this.#batches) {
      batch.extend().then(
        () => this.#failing.delete(batch),
        error => this.#failed(batch, error),
      )
    }
  }

  #failed(batch: Extendable, error: unknown): void {
    // Settled while this was in flight, or taken over, which its settlement reports.
    if (error instanceof StaleDeliveryError || error instanceof StaleClaimError) return
    if (!this.#batches.has(batch) || this.#failing.has(batch)) return
    this.#failing.add(batch)
    this.#note(`extend ${batch.key}`, error)
  }
}
