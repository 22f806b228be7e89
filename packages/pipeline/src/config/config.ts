/** The shape of `tidemark.config.ts`, as it is written and as it is after the check. */
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

type ByName<T> = { readonly [name: string]: T }

export type ResourcesConfig = {
  readonly topics?: GivenOptions<typeof TOPICS_OPTIONS>
  readonly storages?: ByName<GivenOptions<typeof STORAGE_OPTIONS>>
  readonly indexes?: ByName<GivenOptions<typeof INDEX_OPTIONS>>
  readonly queues?: ByName<GivenOptions<typeof QUEUE_OPTIONS>>
}

type BuiltIn = typeof BUILT_IN_TYPES

type ServiceOf<Type, Table extends OptionTable, Bindings> = GivenOptions<typeof SERVICE_OPTIONS> & {
  readonly type: Type
  readonly bindings?: { readonly [name in keyof Bindings]?: Binding }
  readonly options?: GivenOptions<Table>
}

/** One of the types that come with the pipeline, or the path of a module with one of your own. */
export type ServiceConfig =
  | { [Type in keyof BuiltIn]: ServiceOf<Type, BuiltIn[Type]['options'], BuiltIn[Type]['bindings']> }[keyof BuiltIn]
  | (GivenOptions<typeof SERVICE_OPTIONS> & {
      readonly type: `./${string}` | `../${string}` | `/${string}`
      readonly bindings?: ByName<Binding>
      readonly options?: ByName<unknown>
    })

export type PipelineConfig = GivenOptions<typeof PIPELINE_OPTIONS> & {
  readonly resources?: ResourcesConfig
  /** Started in this order, stopped in reverse: what takes from a queue comes before what puts into it. */
  readonly services: ByName<ServiceConfig>
}

export type CheckedService = CheckedOptions<typeof SERVICE_OPTIONS> & {
  readonly name: string
  readonly type: string
  readonly bindings: ByName<Binding>
  /** Of a type of your own: as written, since its table is known only once its module is loaded. */
  readonly options: ByName<unknown>
}

export type CheckedResources = {
  readonly topics: CheckedOptions<typeof TOPICS_OPTIONS> | null
  readonly storages: ByName<CheckedOptions<typeof STORAGE_OPTIONS>>
  readonly indexes: ByName<CheckedOptions<typeof INDEX_OPTIONS>>
  readonly queues: ByName<CheckedOptions<typeof QUEUE_OPTIONS>>
}

/** Plain data, so that it can go to a thread. */
export type CheckedConfig = CheckedOptions<typeof PIPELINE_OPTIONS> & {
  readonly resources: CheckedResources
  readonly services: readonly CheckedService[]
  /** Modules are relative to it: where the configuration file is. */
  readonly folder: string
}

/** Gives the configuration its type, and nothing else: it is checked when the pipeline loads it. */
export function defineConfig(config: PipelineConfig): PipelineConfig {
  return config
}
