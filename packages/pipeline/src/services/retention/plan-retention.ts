import type { Logger } from 'tidemark'
import type { Binding } from '../../config/bindings.ts'
import type { CheckedConfig, CheckedService } from '../../config/config.ts'
import type { Resources } from '../../resources/resources.ts'
import type { ServicePlan } from '../service-slot.ts'
import { parseKeep } from './keep.ts'
import type { FollowingIndex } from './processed-by-all.ts'
import { type KeptStorage, RetentionService } from './retention-service.ts'

const RETENTION = 'retention'

const TABLE = { storage: { kind: 'storage-write', says: 'Loses its old batches.' } } as const

/** The service added to a configuration with `keep`, for the storages that this pipeline writes to. */
export function planRetention(
  config: CheckedConfig,
  resources: Resources,
  logger: Logger,
  fullness: () => number,
): ServicePlan[] {
  const keep = parseKeep('keep', config.keep)
  const enabled = config.services.filter(service => service.enabled)
  const written = new Set(
    enabled.filter(({ type }) => type === 'persistence').flatMap(({ bindings }) => storagesOf(bindings)),
  )
  if (keep === null || written.size === 0) return []
  const create = async (): Promise<RetentionService> => {
    const storages: KeptStorage[] = []
    for (const name of written) {
      const bound = await resources.bind(RETENTION, { storage: { kind: 'storage-write', name } }, TABLE)
      const readers = config.services.filter(({ bindings }) => storagesOf(bindings).includes(name))
      storages.push({
        storage: bound.storage('storage'),
        indexes: indexesOf(readers, config),
        runIds: [...new Set(readers.flatMap(({ options: { runId } }) => (typeof runId === 'string' ? [runId] : [])))],
      })
    }
    return new RetentionService(RETENTION, { keep, storages, fullness, logger })
  }
  return [{ name: RETENTION, create }]
}

/** For a disabled indexer only its ledger counts, if there is one: it may run elsewhere, or be disabled permanently. */
function indexesOf(readers: readonly CheckedService[], { resources }: CheckedConfig): FollowingIndex[] {
  const byIndex = Map.groupBy(
    readers.flatMap(service => indexNamesOf(service).map(name => ({ name, service }))),
    ({ name }) => name,
  )
  return [...byIndex].flatMap(([name, bound]) => {
    const index = resources.indexes[name]
    if (index === undefined) return []
    const { address, busyTimeout, poolSize } = index
    const indexers = bound.flatMap(({ service }) => (service.enabled ? ledgerNameOf(service) : []))
    return [{ address, options: { busyTimeout, poolSize }, indexers }]
  })
}

/** As the service itself names it: `indexer`, its consumer group, or with the source `storage` its own name. */
function ledgerNameOf({ name, type, bindings, options }: CheckedService): string[] {
  if (type === 'metadata-indexer') return []
  if (typeof options.indexer === 'string') return [options.indexer]
  if (options.source === 'storage') return [name]
  const { batches } = bindings
  return batches?.kind === 'topic-read' ? [batches.consumerGroup] : []
}

const storagesOf = (bindings: { readonly [name: string]: Binding }): string[] =>
  Object.values(bindings).flatMap(({ kind, name }) =>
    kind === 'storage-read' || kind === 'storage-write' ? [name] : [],
  )

const indexNamesOf = ({ bindings }: CheckedService): string[] =>
  Object.values(bindings).flatMap(({ kind, name }) => (kind === 'index' ? [name] : []))
