import { ServiceTypeError } from '../config/errors.ts'
import { importModule } from '../config/import-module.ts'
import { requireObject } from '../config/option-table.ts'
import type { ServiceType } from './service-type.ts'
import { dummyIndexerType } from './types/dummy-indexer.ts'
import { environmentIndexerType } from './types/environment-indexer.ts'
import { ingest } from './types/ingest.ts'
import { metadataIndexer } from './types/metadata-indexer.ts'
import { metadataPersistence } from './types/metadata-persistence.ts'
import { organismIndexerType } from './types/organism-indexer.ts'
import { persistence } from './types/persistence.ts'
import { reconciler } from './types/reconciler.ts'
import { seriesIndexerType } from './types/series-indexer.ts'
import { simulation } from './types/simulation.ts'

/** The service types that a configuration can name. */
export const BUILT_IN_TYPES = {
  simulation,
  ingest,
  persistence,
  'metadata-persistence': metadataPersistence,
  reconciler,
  'metadata-indexer': metadataIndexer,
  'dummy-indexer': dummyIndexerType,
  'environment-indexer': environmentIndexerType,
  'organism-indexer': organismIndexerType,
  'series-indexer': seriesIndexerType,
} as const

export const typeNames = (): string =>
  Object.keys(BUILT_IN_TYPES)
    .map(name => `'${name}'`)
    .join(', ')

/** The type with that name, or the default export of the user's module. */
export async function resolveServiceType(type: string, folder: string): Promise<ServiceType> {
  return isBuiltIn(type) ? builtInType(type) : await importType(type, folder)
}

const isBuiltIn = (type: string): boolean => Object.hasOwn(BUILT_IN_TYPES, type)

/** Type of a checked name. Its own tables have checked the arguments of its functions. */
export function builtInType(type: string): ServiceType {
  return BUILT_IN_TYPES[type as keyof typeof BUILT_IN_TYPES] as unknown as ServiceType
}

async function importType(type: string, folder: string): Promise<ServiceType> {
  const { file, exported } = await importModule(type, folder, (...problem) => new ServiceTypeError(...problem))
  if (!isServiceType(exported)) {
    throw new ServiceTypeError(
      file,
      'its default export is not a service type. Write: export default defineServiceType({ … })',
    )
  }
  return exported
}

function isServiceType(value: unknown): value is ServiceType {
  if (typeof value !== 'object' || value === null) return false
  const { options, bindings, create } = requireObject('type', value)
  return typeof create === 'function' && typeof options === 'object' && typeof bindings === 'object'
}
