import type { Logger } from 'tidemark'
import type { CheckedConfig, CheckedService } from '../config/config.ts'
import type { Resources } from '../resources/resources.ts'
import { BATCH_TOPIC } from '../services/notification-topics.ts'
import { BUILT_IN_TYPES } from '../services/registry.ts'
import type { ServiceManager } from '../services/service-manager.ts'
import type { Allowance } from './allowance.ts'
import { parseBytes } from './bytes.ts'
import { diskPartsOf } from './disk-parts.ts'
import { DiskWatch } from './disk-watch.ts'
import { type ExpectedGroup, UnindexedBytes } from './pending.ts'

type WatchOptions = {
  readonly allowance: Allowance
  readonly logger: Logger
  readonly lookMs?: number | undefined
}

/** Watches what a pipeline writes, with the queues of its sources under its allowance. */
export function watchDisk(
  config: CheckedConfig,
  resources: Resources,
  manager: ServiceManager,
  { allowance, logger, lookMs }: WatchOptions,
): DiskWatch {
  const enabled = config.services.filter(service => service.enabled)
  const names = heldQueues(config, enabled)
  const queues = names.map(name => resources.queue(name))
  const sources = enabled.filter(service => isSource(service, names)).map(({ name }) => name)
  const unindexed = new UnindexedBytes(enabled.flatMap(groupsOf))
  for (const queue of queues) queue.limitBy(allowance)
  return new DiskWatch({
    limits: {
      maxBytes: config.maxDisk === 'none' ? null : parseBytes('maxDisk', config.maxDisk),
      minFreeBytes: parseBytes('minFreeDisk', config.minFreeDisk),
    },
    parts: diskPartsOf(config, { topics: () => resources.openTopics, storage: name => resources.openStorage(name) }),
    allowance,
    heldBytes: () => Math.max(0, ...queues.map(({ heldBytes }) => heldBytes)),
    queuedBytes: () => {
      const inHand = manager.status().reduce((sum, { metrics }) => sum + (metrics.bytesInHand ?? 0), 0)
      return queues.reduce((sum, { metrics }) => sum + metrics.bytes, inHand)
    },
    unindexedBytes: () => unindexed.look(resources.openTopics),
    holdSources: reason => manager.heldFor(sources, reason),
    makesRoom: config.keep === 'fits',
    logger,
    lookMs,
  })
}

/** All queues except those of metadata: a few kilobytes per run, without which its ticks are useless. */
function heldQueues({ resources }: CheckedConfig, services: readonly CheckedService[]): string[] {
  const ofMetadata = services.filter(({ type }) => type === 'metadata-persistence').flatMap(queuesOf)
  return Object.keys(resources.queues).filter(name => !ofMetadata.includes(name))
}

/** Whether it fills one of these queues. This is unknown for a custom type before it is loaded. */
function isSource({ type, bindings }: CheckedService, queues: readonly string[]): boolean {
  const table = Object.entries(BUILT_IN_TYPES).find(([name]) => name === type)?.[1].bindings ?? {}
  const outlets = Object.entries(table).flatMap(([name, { kind }]) => (kind === 'queue-out' ? [name] : []))
  return outlets.some(name => queues.includes(bindings[name]?.name ?? ''))
}

/** An indexer that finds its run by itself is not included: its batches show up on the disk a moment later. */
const groupsOf = ({ bindings, options: { runId } }: CheckedService): ExpectedGroup[] =>
  Object.values(bindings).flatMap(binding =>
    binding.kind === 'topic-read' && binding.name === BATCH_TOPIC && typeof runId === 'string'
      ? [{ topic: binding.name, group: binding.consumerGroup, runId }]
      : [],
  )

const queuesOf = ({ bindings }: CheckedService): string[] =>
  Object.values(bindings).flatMap(({ kind, name }) => (kind === 'queue' ? [name] : []))
