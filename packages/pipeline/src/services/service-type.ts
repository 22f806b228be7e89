import type { Logger } from 'tidemark'
import type { Binding, BindingTable } from '../config/bindings.ts'
import type { CheckedOptions, OptionTable } from '../config/option-table.ts'
import type { BoundResources } from '../resources/bound-resources.ts'
import type { Service } from './service.ts'

/** What a service is made from: its checked options, and what its bindings lead to. */
export type ServiceBuild<Options = { readonly [name: string]: unknown }> = {
  readonly name: string
  readonly options: Options
  readonly resources: BoundResources
  readonly logger: Logger
  /** Modules that the options name are relative to it: where the configuration file is. */
  readonly folder: string
}

/** A service as its configuration has it, for a check that no single option or binding can make. */
export type ServiceCheck<Options> = {
  /** Where it is in the configuration, for errors: 'services.<name>'. */
  readonly path: string
  readonly options: Options
  readonly bindings: { readonly [name: string]: Binding }
}

/** A kind of service that a configuration can name. */
export type ServiceType<Table extends OptionTable = OptionTable> = {
  readonly says: string
  /** One named `runId` is set to the run of the pipeline's simulation where the configuration leaves it out. */
  readonly options: Table
  readonly bindings: BindingTable
  /** Throws a `ConfigError` where options and bindings do not go together. */
  check?(service: ServiceCheck<CheckedOptions<NoInfer<Table>>>): void
  create(build: ServiceBuild<CheckedOptions<Table>>): Service | Promise<Service>
}

/** For a service of your own: the default export of the module that the configuration names as its `type`. */
export function defineServiceType<const Table extends OptionTable>(type: ServiceType<Table>): ServiceType<Table> {
  return type
}
