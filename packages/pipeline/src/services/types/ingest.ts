import { text, whole } from '../../config/option-table.ts'
import { DEFAULT_LIMITS } from '../../contracts/limits.ts'
import type { EncodedTick } from '../../contracts/tick-codec.ts'
import { IngestService } from '../ingest/ingest-service.ts'
import { defineService } from '../service-type.ts'
import type { EncodedMetadata } from '../simulation/simulation-service.ts'

export const ingest = defineService({
  says: 'Takes delimited `TickData` from a file or standard input: the ticks of any simulation in any language.',
  options: {
    input: text({ says: "The file; `'-'` is standard input.", allowed: "a path, or `'-'`", default: '-' }),
    metadataFile: text({
      says: "The run's `SimulationMetadata` as JSON.",
      otherwise: 'its metadata comes another way',
    }),
    maxTickBytes: whole({
      says: "A single tick's bytes, at most.",
      min: 1,
      max: 2 ** 31 - 1,
      default: DEFAULT_LIMITS.maxTickBytes,
    }),
  },
  bindings: {
    ticks: { kind: 'queue-out', says: 'Gets the ticks.' },
    metadata: { kind: 'queue-out', says: 'Gets the metadata, before the first tick.', optional: true },
    storage: { kind: 'storage-read', says: 'Ticks that it has are passed over.', optional: true },
  },
  create({ name, options: { input, metadataFile, maxTickBytes }, resources, logger }) {
    return new IngestService(
      name,
      {
        input,
        maxTickBytes,
        ticks: resources.outlet<EncodedTick>('ticks'),
        ...(metadataFile !== undefined && { metadataFile }),
        ...(resources.has('metadata') && { metadata: resources.outlet<EncodedMetadata>('metadata') }),
        ...(resources.has('storage') && { storage: resources.storage('storage') }),
      },
      logger,
    )
  },
})
