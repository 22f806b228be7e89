import { checkOptions } from '../config/option-table.ts'
import type { WholeConfig } from '../config/whole-config.ts'
import { simulation } from '../services/types/simulation.ts'

/** A service that puts something into a queue. */
export type Source = {
  readonly name: string
  readonly type: string
  /** Of a simulation: the tick with which it ends; undefined: it goes on until it is stopped. */
  readonly lastTick: number | undefined
  /** It puts the metadata of its run before its first tick. */
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
