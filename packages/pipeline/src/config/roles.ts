import { BATCH_TOPIC } from '../services/notification-topics.ts'
import type { CheckedConfig } from './config.ts'

/** The roles of the services that run here, by name. */
export type Roles = {
  /** '' if it is not known before it begins. */
  readonly runId: string
  /** Services that index batches, and their consumer groups; '' for one that reads the storage. */
  readonly indexers: readonly { readonly name: string; readonly group: string }[]
  readonly simulations: readonly string[]
  readonly writers: readonly string[]
  /** Writers of ticks. */
  readonly persistence: readonly string[]
  readonly reconcilers: readonly string[]
}

export function rolesOf({ services }: CheckedConfig): Roles {
  const enabled = services.filter(service => service.enabled)
  const ofType = (...wanted: string[]): string[] =>
    enabled.filter(({ type }) => wanted.includes(type)).map(({ name }) => name)
  return {
    runId: String(enabled.map(({ options }) => options.runId).find(runId => typeof runId === 'string') ?? ''),
    indexers: enabled.flatMap(({ name, options, bindings: { batches, index } }) => {
      if (options.source === 'storage' && index !== undefined) return [{ name, group: '' }]
      const isAnnounced = batches?.kind === 'topic-read' && batches.name === BATCH_TOPIC
      return isAnnounced ? [{ name, group: batches.consumerGroup }] : []
    }),
    simulations: ofType('simulation'),
    writers: ofType('persistence', 'metadata-persistence'),
    persistence: ofType('persistence'),
    reconcilers: ofType('reconciler'),
  }
}
