import type { Logger } from 'tidemark'
import type { Binding, BindingTable } from '../config/bindings.ts'
import type { CheckedOptions, OptionTable } from '../config/option-table.ts'
import type { BoundResources } from '../resources/bound-resources.ts'
import type { Service } from './service.ts'

/** What a service is built from. */
export type ServiceBuild<Options = { readonly [name: string]: unknown }> = {
  /** Name of the service. */
  readonly name: string
  /** Checked options. */
  readonly options: Options
  /** Resources of its bindings. */
  readonly resources: BoundResources
  /** Logger. */
  readonly logger: Logger
  /** Folder of the configuration file. Paths of modules in the options are relative to it. */
  readonly folder: string
}

/** A configured service, for checks that involve several options or bindings. */
export type ServiceCheck<Options> = {
  /** Place in the configuration, for errors: 'services.<name>'. */
  readonly path: string
  /** Checked options. */
  readonly options: Options
  /** Bindings by name. */
  readonly bindings: { readonly [name: string]: Binding }
}

/** A type of service that a configuration can name. */
export type ServiceType<Table extends OptionTable = OptionTable> = {
  /** Description of the service. */
  readonly says: string
  /**
   * Options. If one is named `runId` and the configuration omits it, it is set to the run of the pipeline's
   * simulation.
   */
  readonly options: Table
  /** Bindings. */
  readonly bindings: BindingTable
  /** Throws a `ConfigError` if options and bindings do not fit together. */
  check?(service: ServiceCheck<CheckedOptions<NoInfer<Table>>>): void
  /** Builds the service. */
  create(build: ServiceBuild<CheckedOptions<Table>>): Service | Promise<Service>
}

/**
 * Defines your own service type: the default export of the module that the configuration names as `type`.
 *
 * @example
 * class Ticker extends Service {
 *   protected async run({ signal }: ServiceContext): Promise<void> {
 *     while (!signal.aborted) await new Promise(resolve => setTimeout(resolve, 1_000))
 *   }
 * }
 * export default defineServiceType({
 *   says: 'Does nothing, every second.',
 *   options: {},
 *   bindings: {},
 *   create: ({ name, logger }) => new Ticker(name, logger),
 * })
 */
export function defineServiceType<const Table extends OptionTable>(type: ServiceType<Table>): ServiceType<Table> {
  return type
}
