/** The shape of `tidemark.config.ts`, as written and after the check. */
import type { BUILT_IN_TYPES } from '../services/registry.ts'
import type { Binding } from './bindings.ts'
import type { CheckedOptions, GivenOptions, OptionTable } from './option-table.ts'
import type {
  INDEX_OPTIONS,
  PIPELINE_OPTIONS,
  QUEUE_OPTIONS,
  SERVICE_OPTIONS,
  STORAGE_OPTIONS,
  TOPICS_OPTIONS,
} from './resource-tables.ts'
import type { S3_OPTIONS } from './s3-options.ts'

type ByName<T> = { readonly [name: string]: T }

/** Resources that services share. */
export type ResourcesConfig = {
  /** Database of the topics. */
  readonly topics?: GivenOptions<typeof TOPICS_OPTIONS>
  /** Storages of batch files by name: a folder, or a bucket as `s3({ … })`. */
  readonly storages?: ByName<GivenOptions<typeof STORAGE_OPTIONS> | GivenOptions<typeof S3_OPTIONS>>
  /** Databases of the run indexes by name. */
  readonly indexes?: ByName<GivenOptions<typeof INDEX_OPTIONS>>
  /** Queues by name. */
  readonly queues?: ByName<GivenOptions<typeof QUEUE_OPTIONS>>
}

type BuiltIn = typeof BUILT_IN_TYPES

type ServiceOf<Type, Table extends OptionTable, Bindings> = GivenOptions<typeof SERVICE_OPTIONS> & {
  /** Name of the type, or path of its module. */
  readonly type: Type
  /** Resources by binding name. */
  readonly bindings?: { readonly [name in keyof Bindings]?: Binding }
  /** Options of the type. */
  readonly options?: GivenOptions<Table>
}

/** One service of a pipeline: a built-in type, or the path of a module with your own. */
export type ServiceConfig =
  | { [Type in keyof BuiltIn]: ServiceOf<Type, BuiltIn[Type]['options'], BuiltIn[Type]['bindings']> }[keyof BuiltIn]
  | (GivenOptions<typeof SERVICE_OPTIONS> & {
      readonly type: `./${string}` | `../${string}` | `/${string}`
      readonly bindings?: ByName<Binding>
      readonly options?: ByName<unknown>
    })

/** Configuration of a pipeline. */
export type PipelineConfig = GivenOptions<typeof PIPELINE_OPTIONS> & {
  /** Resources that services share. */
  readonly resources?: ResourcesConfig
  /**
   * Services by name, in the order in which they start. They stop in reverse order, so a service that takes from a
   * queue comes before the one that fills it.
   */
  readonly services: ByName<ServiceConfig>
}

/** A checked service of a configuration. */
export type CheckedService = CheckedOptions<typeof SERVICE_OPTIONS> & {
  /** Name of the service. */
  readonly name: string
  /** Type of the service. */
  readonly type: string
  /** Resources of the service by name. */
  readonly bindings: ByName<Binding>
  /** Options of a custom type are unchecked, because its table is known only once its module is loaded. */
  readonly options: ByName<unknown>
}

/** A checked storage: a folder, or a bucket. */
export type CheckedStorage = CheckedOptions<typeof STORAGE_OPTIONS> | CheckedOptions<typeof S3_OPTIONS>

/** Checked resources of a configuration. */
export type CheckedResources = {
  /** Topics, or null if it has none. */
  readonly topics: CheckedOptions<typeof TOPICS_OPTIONS> | null
  /** Storages by name. */
  readonly storages: ByName<CheckedStorage>
  /** Index databases by name. */
  readonly indexes: ByName<CheckedOptions<typeof INDEX_OPTIONS>>
  /** Queues by name. */
  readonly queues: ByName<CheckedOptions<typeof QUEUE_OPTIONS>>
}

/** A checked configuration: plain data, so that it can be passed to a thread. */
export type CheckedConfig = CheckedOptions<typeof PIPELINE_OPTIONS> & {
  /** Resources with all defaults. */
  readonly resources: CheckedResources
  /** Services with all defaults. */
  readonly services: readonly CheckedService[]
  /** Folder of the configuration file. Paths of modules are relative to it. */
  readonly folder: string
}

/**
 * Types a configuration. It is checked when the pipeline loads it.
 *
 * @example
 * export default defineConfig({
 *   resources: { topics: { url: 'sqlite:./data/topics.db' }, queues: { ticks: { maxItems: 100 } } },
 *   services: {},
 * })
 */
export function defineConfig(config: PipelineConfig): PipelineConfig {
  return config
}
