import { checkOptions } from '../config/option-table.ts'
import type { WholeConfig } from '../config/whole-config.ts'
import { simulation } from '../services/types/simulation.ts'

/** A service that fills a queue. */
export type Source = {
  /** Name of the service. */
  readonly name: string
  /** Type of the service. */
  readonly type: string
  /** Last tick of a simulation; undefined: it runs until it is stopped. */
  readonly lastTick: number | undefined
  /** Whether it sends the metadata of its run before its first tick. */
  readonly hasMetadata: boolean
}

export function sourcesOf({ config, types }: WholeConfig): Source[] {
  const puts = (name: string): boolean =>
    Object.values(types.get(name)?.bindings ?? {}).some(({ kind }) => kind === 'queue-out')
  return config.services
    .filter(({ name, enabled }) => enabled && puts(name))
    .map(({ name, type, options }) => ({
      name,
      type,
      lastTick: type === 'simulation' ? checkOptions(name, options, simulation.options).maxTicks : undefined,
      hasMetadata: type === 'simulation' || (type === 'ingest' && options.metadataFile !== undefined),
    }))
}
