import { IndexNotFoundError, isEnvironmentFault, type SimulationMetadata } from '@tidemark/pipeline'
import type { RunIndexes } from './run-indexes.ts'

/** Runs whose metadata is remembered: one at a time is ingested, as a rule. */
const KEPT = 16
/** An index is asked this often whether the metadata has come. */
const ASK_MS = 1_000

/** What is known of the runs that are ingested here: as it was posted, or as it is indexed. */
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

  /** null: nothing yet. That the index is away is no reason to refuse ticks. */
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
