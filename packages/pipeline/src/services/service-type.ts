import type { Logger } from 'tidemark'
import type { BindingTable } from '../config/bindings.ts'
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

/** A kind of service that a configuration can name. */
export type ServiceType<Table extends OptionTable = OptionTable> = {
  readonly says: string
  readonly options: Table
  readonly bindings: BindingTable
  create(build: ServiceBuild<CheckedOptions<Table>>): Service | Promise<Service>
}

/** For a service of your own: the default export of the module that the configuration names as its `type`. */
export function defineService<const Table extends OptionTable>(type: ServiceType<Table>): ServiceType<Table> {
  return type
}
