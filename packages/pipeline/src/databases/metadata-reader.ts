import { setTimeout as delay } from 'node:timers/promises'
import { CodedError, type Duration } from 'tidemark'
import type { SimulationMetadata } from '../contracts/tick.ts'
import { parseDuration } from '../duration.ts'
import { refuseUnknown } from '../options.ts'
import type { IndexDatabase } from './index-database.ts'

/** Options of a MetadataReader. */
export type MetadataReaderOptions = {
  /** Time between two queries (default '1s'). */
  readonly pollInterval?: Duration
  /** Maximum time to wait (default '5m'). */
  readonly maxDuration?: Duration
}

/** Waits until the metadata of a run is in its index, and caches it. */
export class MetadataReader {
  readonly #database: Pick<IndexDatabase, 'metadata' | 'runId' | 'location'>
  readonly #pollMs: number
  readonly #maxMs: number
  #known: SimulationMetadata | undefined
  readonly #startedAt = performance.now()
  readonly #counts = { metadataReads: 0, metadataWaitMs: 0 }

  constructor(database: Pick<IndexDatabase, 'metadata' | 'runId' | 'location'>, options: MetadataReaderOptions = {}) {
    const { pollMs, maxMs } = metadataReaderSettings(options)
    this.#database = database
    this.#pollMs = pollMs
    this.#maxMs = maxMs
  }

  /** Returns the metadata if it is there, without waiting. */
  async peek(): Promise<SimulationMetadata | null> {
    if (this.#known !== undefined) return this.#known
    this.#counts.metadataReads++
    this.#known = (await this.#database.metadata.read()) ?? undefined
    this.#counts.metadataWaitMs = Math.round(performance.now() - this.#startedAt)
    return this.#known ?? null
  }

  /** Number of queries and the time waited. */
  metrics(): Readonly<Record<string, number>> {
    return { ...this.#counts, metadataKnown: Number(this.#known !== undefined) }
  }

  /** Waits for the metadata. Rejects with `MetadataTimeoutError`, or with the signal's reason. */
  async get({ signal }: { readonly signal?: AbortSignal } = {}): Promise<SimulationMetadata> {
    const started = performance.now()
    for (;;) {
      signal?.throwIfAborted()
      const metadata = await this.peek()
      if (metadata !== null) return metadata
      const left = started + this.#maxMs - performance.now()
      if (left <= 0) throw new MetadataTimeoutError(this.#database.runId, this.#database.location, this.#maxMs)
      await delay(Math.min(this.#pollMs, left), undefined, signal && { signal }).catch(error => {
        // The timer's own AbortError would hide the reason.
        signal?.throwIfAborted()
        throw error
      })
    }
  }
}

export function metadataReaderSettings(options: MetadataReaderOptions): { pollMs: number; maxMs: number } {
  refuseUnknown(options, ['pollInterval', 'maxDuration'])
  const { pollInterval = '1s', maxDuration = '5m' } = options
  return {
    pollMs: parseDuration('pollInterval', pollInterval, { min: 1 }),
    maxMs: parseDuration('maxDuration', maxDuration),
  }
}

/** The metadata of a run did not arrive in time. */
export class MetadataTimeoutError extends CodedError {
  /** Id of the run. */
  readonly runId: string

  constructor(runId: string, location: string, waitedMs: number) {
    super(
      'TIDEMARK_METADATA_TIMEOUT',
      `The metadata of run ${runId} did not reach the index at ${location} within ${waitedMs} ms. ` +
        `Check that the metadata indexer runs, writes to this index, and that the run's metadata was persisted; ` +
        `or raise maxDuration`,
    )
    this.runId = runId
  }
}
