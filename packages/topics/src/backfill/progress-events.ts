import type { Instrumentation } from '../observe/instrumentation.ts'
import type { BackfillRecord } from '../stores/backfills.ts'

const EVERY_MS = 1_000

/** Reports the progress of a backfill, at most once a second and at the end. */
export class ProgressEvents {
  readonly #instrumentation: Instrumentation
  readonly #where: { readonly topic: string; readonly group: string }
  readonly #from: number
  readonly #startedAt = performance.now()
  #toldAt = performance.now()

  constructor(
    instrumentation: Instrumentation,
    where: { readonly topic: string; readonly group: string },
    { checkpointId }: BackfillRecord,
  ) {
    this.#instrumentation = instrumentation
    this.#where = where
    this.#from = checkpointId
  }

  note({ status, checkpointId, lowerId, upperId, processed }: BackfillRecord): void {
    const now = performance.now()
    if (status === 'RUNNING' && now - this.#toldAt < EVERY_MS) return
    this.#toldAt = now
    // Based on the ids scanned: how many of the rest are needed is not known in advance.
    const rate = (checkpointId - this.#from) / Math.max(0.001, (now - this.#startedAt) / 1_000)
    this.#instrumentation.emit('backfill-progress', {
      ...this.#where,
      processed,
      done: checkpointId - lowerId,
      total: upperId - lowerId,
      rate: Math.round(rate),
      etaMs: rate === 0 ? null : Math.ceil(((upperId - checkpointId) / rate) * 1_000),
    })
  }
}
