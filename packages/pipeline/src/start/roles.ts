import type { WholeConfig } from '../config/check-whole.ts'
import { checkOptions } from '../config/option-table.ts'
import { BATCH_TOPIC } from '../services/notification-topics.ts'
import { simulation } from '../services/types/simulation.ts'

/** Who does what in a pipeline, by the names of the services that run here. */
export type Roles = {
  /** '' where it is not known before it begins. */
  readonly runId: string
  /** Those that index announced batches, and their consumer groups. */
  readonly indexers: readonly string[]
  readonly groups: readonly string[]
  /** Those that put something into a queue. */
  readonly sources: readonly Source[]
  readonly simulations: readonly string[]
  readonly writers: readonly string[]
  /** Those of the writers that write ticks. */
  readonly persistence: readonly string[]
  readonly reconcilers: readonly string[]
}

export type Source = {
  readonly name: string
  readonly type: string
  /** Of a simulation: the tick with which it ends; undefined: it goes on until it is stopped. */
  readonly lastTick: number | undefined
}

export function rolesOf({ config, types }: WholeConfig): Roles {
  const enabled = config.services.filter(service => service.enabled)
  const ofType = (...wanted: string[]): string[] =>
    enabled.filter(({ type }) => wanted.includes(type)).map(({ name }) => name)
  const indexers = enabled.flatMap(({ name, bindings: { batches } }) =>
    batches?.kind === 'topic-read' && batches.name === BATCH_TOPIC ? [{ name, group: batches.consumerGroup }] : [],
  )
  const puts = (name: string): boolean =>
    Object.values(types.get(name)?.bindings ?? {}).some(({ kind }) => kind === 'queue-out')
  return {
    runId: String(enabled.map(({ options }) => options.runId).find(runId => typeof runId === 'string') ?? ''),
    indexers: indexers.map(({ name }) => name),
    groups: [...new Set(indexers.map(({ group }) => group))],
    sources: enabled
      .filter(({ name }) => puts(name))
      .map(({ name, type, options }) => ({
        name,
        type,
        lastTick: type === 'simulation' ? checkOptions(name, options, simulation.options).maxTicks : undefined,
      })),
    simulations: ofType('simulation'),
    writers: ofType('persistence', 'metadata-persistence'),
    persistence: ofType('persistence'),
    reconcilers: ofType('reconciler'),
  }
}
