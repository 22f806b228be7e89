import { text, whole } from '../../config/option-table.ts'
import { DEFAULT_LIMITS } from '../../contracts/limits.ts'
import type { EncodedTick } from '../../contracts/tick-codec.ts'
import { IngestService } from '../ingest/ingest-service.ts'
import { defineServiceType } from '../service-type.ts'
import type { EncodedMetadata } from '../simulation/simulation-service.ts'

export const ingest = defineServiceType({
  says: 'Reads delimited `TickData` from a file or standard input, written by a simulation in any language.',
  options: {
    input: text({
      says: "Input file; `'-'` is standard input.",
      allowed: "a path, or `'-'`",
      default: '-',
      path: 'file',
    }),
    metadataFile: text({
      says: "File with the run's `SimulationMetadata` as JSON.",
      otherwise: 'the metadata is provided in another way',
      path: 'file',
    }),
    maxTickBytes: whole({
      says: 'Maximum size of a tick in bytes.',
      min: 1,
      max: 2 ** 31 - 1,
      default: DEFAULT_LIMITS.maxTickBytes,
    }),
  },
  bindings: {
    ticks: { kind: 'queue-out', says: 'Queue for the ticks.' },
    metadata: { kind: 'queue-out', says: 'Queue for the metadata, filled before the first tick.', optional: true },
    storage: { kind: 'storage-read', says: 'Storage whose ticks are skipped.', optional: true },
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
