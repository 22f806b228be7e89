import type { SimulationMetadata } from '../contracts/tick.ts'
import { IndexDatabaseError } from './errors.ts'

/** Metadata in an index. It never waits; `MetadataReader` does. */
export type MetadataStore = {
  /** Stores the metadata and replaces what is stored. */
  write(metadata: SimulationMetadata): Promise<void>
  /** Returns the metadata, or null if it is not stored yet. */
  read(): Promise<SimulationMetadata | null>
  /** Returns whether the metadata is stored. */
  has(): Promise<boolean>
}

/**
 * Stored as JSON, which both engines keep unchanged: PostgreSQL's text type can't hold every string, but its escaped
 * form.
 */
export function metadataDocument(metadata: SimulationMetadata, runId: string): string {
  if (metadata.runId !== runId) {
    throw new IndexDatabaseError(
      `The metadata of run ${metadata.runId} can't be written into the index of run ${runId}. Open that run's index`,
    )
  }
  const { startedAt, seed, samplingInterval, environment, settings, moleculeTypes } = metadata
  return JSON.stringify({ runId, startedAt, seed, samplingInterval, environment, settings, moleculeTypes })
}

export const metadataOf = (document: string): SimulationMetadata => JSON.parse(document)
