import type { SimulationMetadata } from '../../../contracts/tick.ts'
import type { IndexDatabase } from '../../../databases/index-database.ts'
import {
  type MetadataReader,
  type MetadataReaderOptions,
  MetadataTimeoutError,
  metadataReaderSettings,
} from '../../../databases/metadata-reader.ts'
import type { ServiceContext } from '../../service.ts'
import { pauseFor } from '../../until-aborted.ts'

/**
 * Waits for what the metadata indexer writes, as long as it takes; null if the signal aborted first. A wait longer than
 * `maxDuration` is reported, in case somebody forgot the metadata.
 */
export async function waitForMetadata(
  reader: MetadataReader,
  { runId }: Pick<IndexDatabase, 'runId'>,
  options: MetadataReaderOptions,
  context: ServiceContext,
): Promise<SimulationMetadata | null> {
  const { signal } = context
  const known = await reader.peek()
  // The index answers, so earlier failures are over.
  context.succeeded('open')
  if (known !== null) {
    // It was late before the index became unavailable, and has arrived meanwhile.
    context.succeeded('metadata')
    return known
  }
  using _waiting = context.waiting(`the metadata of run ${runId}`)
  while (!signal.aborted) {
    try {
      const metadata = await reader.get({ signal })
      context.succeeded('metadata')
      return metadata
    } catch (error) {
      if (signal.aborted) return null
      if (!(error instanceof MetadataTimeoutError)) throw error
      context.report('metadata', error)
      await pauseFor(metadataReaderSettings(options).pollMs, signal)
    }
  }
  return null
}
