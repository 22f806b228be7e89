import type { SimulationMetadata } from '../../../contracts/tick.ts'
import type { IndexDatabase } from '../../../databases/index-database.ts'
import { MetadataReader, type MetadataReaderOptions } from '../../../databases/metadata-reader.ts'

/** Waits for what the metadata indexer writes; null where the signal aborted first. */
export async function waitForMetadata(
  database: IndexDatabase,
  options: MetadataReaderOptions,
  signal: AbortSignal,
): Promise<SimulationMetadata | null> {
  try {
    return await new MetadataReader(database, options).get({ signal })
  } catch (error) {
    if (signal.aborted) return null
    throw error
  }
}
