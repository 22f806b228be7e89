import { IndexNotFoundError, isEnvironmentFault, type SimulationMetadata } from '@tidemark/pipeline'
import type { RunIndexes } from './run-indexes.ts'

/** Runs whose metadata is remembered: usually one is ingested at a time. */
const KEPT = 16
/** How often an index is asked whether the metadata has arrived. */
const ASK_MS = 1_000

/** What is known about the runs that are ingested here: as posted, or as indexed. */
export class IngestedRuns {
  readonly #indexes: RunIndexes | undefined
  readonly #known = new Map<string, SimulationMetadata>()
  readonly #askedAt = new Map<string, number>()

  constructor(indexes: RunIndexes | undefined) {
    this.#indexes = indexes
  }

  note(metadata: SimulationMetadata): void {
    this.#known.set(metadata.runId, metadata)
    forgetOldest(this.#known)
  }

  /** null: nothing yet. An unavailable index is no reason to refuse ticks. */
  async metadataOf(runId: string): Promise<SimulationMetadata | null> {
    const known = this.#known.get(runId)
    if (known !== undefined || this.#indexes === undefined) return known ?? null
    const now = performance.now()
    if (now - (this.#askedAt.get(runId) ?? Number.NEGATIVE_INFINITY) < ASK_MS) return null
    this.#askedAt.set(runId, now)
    forgetOldest(this.#askedAt)
    try {
      const indexed = await this.#indexes.use(runId, ({ index }) => index.metadata())
      if (indexed !== null) this.note(indexed)
      return indexed
    } catch (error) {
      if (error instanceof IndexNotFoundError || isEnvironmentFault(error)) return null
      throw error
    }
  }
}

function forgetOldest(map: Map<string, unknown>): void {
  for (const oldest of map.keys()) if (map.size > KEPT) map.delete(oldest)
}
