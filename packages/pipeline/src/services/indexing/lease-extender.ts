import type { SourceBatch } from './sources/batch-source.ts'

/** Keeps the batches in hand from being given to others while they are buffered or a flush takes long. */
export class LeaseExtender implements Disposable {
  readonly #batches = new Set<SourceBatch>()
  readonly #report: (action: string, error: unknown) => void
  readonly #timer: NodeJS.Timeout

  constructor(everyMs: number, report: (action: string, error: unknown) => void) {
    this.#report = report
    this.#timer = setInterval(() => this.#extend(), everyMs)
    this.#timer.unref()
  }

  add(batch: SourceBatch): void {
    this.#batches.add(batch)
  }

  delete(batch: SourceBatch): void {
    this.#batches.delete(batch)
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }

  #extend(): void {
    for (const batch of this.#batches) {
      batch.extend().catch(error => {
        // Settled while this was on its way: nothing was lost.
        if (this.#batches.has(batch)) this.#report(`extend ${batch.key}`, error)
      })
    }
  }
}
