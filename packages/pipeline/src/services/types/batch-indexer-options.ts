import { ConfigError, type Logger } from 'tidemark'
import {
  type CheckedOptions,
  choice,
  duration,
  type OptionTable,
  rule,
  text,
  whole,
} from '../../config/option-table.ts'
import { parseDuration } from '../../duration.ts'
import type { BoundResources } from '../../resources/bound-resources.ts'
import { BatchIndexer, type BatchIndexerOptions } from '../indexing/batch-indexer.ts'
import { deadLettersTo } from '../indexing/components/dead-letters.ts'
import {
  COMPONENTS,
  DEFAULT_COMPONENTS,
  INDEXER_NAME,
  type IndexerComponent,
  type IndexerDefinition,
  isIndexerName,
} from '../indexing/definition.ts'
import type { BatchSource } from '../indexing/sources/batch-source.ts'
import { storageSource } from '../indexing/sources/storage-source.ts'
import { topicSource } from '../indexing/sources/topic-source.ts'
import { ANNOUNCEMENT_ATTEMPTS } from '../notification-topics.ts'
import type { ServiceBuild, ServiceCheck } from '../service-type.ts'
import { indexerOptions, RUN_OPTIONS } from './indexer-options.ts'

const components = <const More extends object>(about: { readonly says: string; readonly otherwise: string } & More) =>
  rule<readonly IndexerComponent[], More>(
    about,
    `some of ${COMPONENTS.map(each => `\`'${each}'\``).join(', ')}`,
    (path, value) => {
      const isList = Array.isArray(value) && value.every(each => COMPONENTS.includes(each))
      if (!isList || new Set(value).size < value.length)
        throw new ConfigError(path, value, `some of ${COMPONENTS.join(', ')}`)
      return value
    },
  )

/** Options of every batch indexer. */
export const BATCH_INDEXER_OPTIONS = {
  ...RUN_OPTIONS,
  source: choice(['topic', 'storage'], {
    says: 'Where batches come from. `topic`: announcements. `storage`: a scan of the stored files, for archives and runs without announcements.',
    default: 'topic',
  }),
  indexer: text({
    says: 'Name of the batch ledger. Instances that share batches use the same name.',
    otherwise: 'its consumer group; its own name with the source `storage`',
  }),
  lease: duration({
    says: 'Lease per batch. After a crash the batch is redelivered when it expires.',
    min: 1,
    default: '30s',
  }),
  insertBatchSize: whole({ says: 'Maximum number of ticks per flush.', min: 1, default: 1_000 }),
  maxBufferBytes: whole({ says: 'Maximum bytes of buffered ticks.', min: 1, default: 64 * 1024 ** 2 }),
  flushTimeout: duration({ says: 'Maximum time that a tick is buffered before a flush.', min: 1, default: '5s' }),
  metadataTimeout: duration({
    says: 'Time after which missing metadata is reported as a failure. `0` never reports it. The indexer keeps waiting.',
    default: '5m',
  }),
  // The metadata of a new run arrives within a fraction of a second.
  metadataPollInterval: duration({ says: 'How often to look for the metadata.', min: 1, default: '100ms' }),
  components: components({
    says: 'Components of the indexer; the list replaces the default (docs/internals/writing-an-indexer.md#components).',
    otherwise: '`metadata`, `buffering`, and `dlq` where `deadLetters` is bound',
  }),
  maxRetries: whole({
    says: 'Retries of a failed batch, over all instances, before it is dead-lettered. Crashes are not counted.',
    min: 0,
    max: ANNOUNCEMENT_ATTEMPTS - 1,
    default: 3,
  }),
  firstTick: whole({
    says: 'First tick of the run. Missing ticks from there on are a gap.',
    min: 0,
    otherwise: 'the first tick that arrives',
  }),
  gapWarningTimeout: duration({
    says: 'Time after which missing ticks are reported as a permanent gap.',
    default: '1m',
  }),
  afterPermanentGap: choice(['wait', 'release'], {
    says: 'Source `storage` only: what batches after a permanent gap do. `wait`: keep waiting. `release`: continue.',
    default: 'wait',
  }),
  metricsWindow: duration({ says: 'Window of rates and latencies in the metrics.', min: 1_000, default: '1m' }),
  scanInterval: duration({ says: 'Source `storage` only: interval between scans.', min: 1, default: '1s' }),
} as const satisfies OptionTable

export const BATCH_INDEXER_BINDINGS = {
  batches: {
    kind: 'topic-read',
    says: 'Announcements of stored batches, for the source `topic`.',
    semantics: 'own',
    perRun: true,
    optional: true,
  },
  storage: { kind: 'storage-read', says: 'Storage to read from.' },
  index: { kind: 'index', says: 'Index to write to.' },
  deadLetters: {
    kind: 'topic-write',
    says: 'Topic for batches that keep failing.',
    semantics: 'own',
    unread: true,
    optional: true,
  },
} as const

type Build = ServiceBuild<CheckedOptions<typeof BATCH_INDEXER_OPTIONS>>

/** A hundred years. */
const NEVER = '36500d'

export function createBatchIndexer(definition: IndexerDefinition, build: Build): BatchIndexer {
  const { name, options, resources, logger } = build
  const { source, identity } = sourceOf(build)
  const components = options.components ?? componentsOf(definition, resources.has('deadLetters'))
  return new NamedBatchIndexer(
    name,
    { ...definition, name: options.indexer ?? identity, components },
    { ...settingsOf(options, resources, logger), source },
  )
}

/** If there is a binding for dead letters, it is used. */
function componentsOf({ components = DEFAULT_COMPONENTS }: IndexerDefinition, hasLetters: boolean) {
  return hasLetters && !components.includes('dlq') ? ([...components, 'dlq'] as const) : components
}

/** Checks combinations of options and bindings. */
export function checkBatchIndexer({ path, options, bindings }: ServiceCheck<Build['options']>): void {
  const { source, components } = options
  if (source === 'topic' && bindings.batches === undefined) {
    const allowed = "topicRead('<topic>', { consumerGroup: '<group>' }), or the source 'storage'"
    throw new ConfigError(`${path}.bindings.batches`, undefined, allowed)
  }
  if (options.indexer !== undefined && !isIndexerName(options.indexer)) {
    throw new ConfigError(`${path}.options.indexer`, options.indexer, INDEXER_NAME)
  }
  // Also names the ledger.
  const group = bindings.batches?.kind === 'topic-read' ? bindings.batches.consumerGroup : undefined
  if (group !== undefined && options.indexer === undefined && !isIndexerName(group)) {
    throw new ConfigError(`${path}.bindings.batches.consumerGroup`, group, INDEXER_NAME)
  }
  if (components?.includes('dlq') && bindings.deadLetters === undefined) {
    const allowed = "topicWrite('<topic>') beside the component 'dlq'"
    throw new ConfigError(`${path}.bindings.deadLetters`, undefined, allowed)
  }
  if (components !== undefined && !components.includes('dlq') && bindings.deadLetters !== undefined) {
    throw new ConfigError(`${path}.options.components`, components, "with 'dlq', or no binding deadLetters")
  }
  if (source === 'storage' && components !== undefined && !components.includes('metadata')) {
    throw new ConfigError(`${path}.options.components`, components, "with 'metadata', which the source 'storage' needs")
  }
}

/** With the name that the configuration gives it, which may differ from its ledger's. */
class NamedBatchIndexer extends BatchIndexer {
  override readonly name: string

  constructor(name: string, definition: IndexerDefinition, options: BatchIndexerOptions) {
    super(definition, options)
    this.name = name
  }
}

function settingsOf(
  options: Build['options'],
  resources: BoundResources,
  logger: Logger,
): Omit<BatchIndexerOptions, 'source'> {
  const { insertBatchSize, maxBufferBytes, flushTimeout, maxRetries, lease, metricsWindow } = options
  const { metadataTimeout, metadataPollInterval, firstTick, gapWarningTimeout, afterPermanentGap } = options
  const isReported = parseDuration('metadataTimeout', metadataTimeout) > 0
  const letters = resources.has('deadLetters') ? resources.topic('deadLetters') : undefined
  return {
    ...indexerOptions(options, resources, logger),
    insertBatchSize,
    maxBufferBytes,
    flushTimeout,
    maxRetries,
    metricsWindow,
    metadata: { pollInterval: metadataPollInterval, maxDuration: isReported ? metadataTimeout : NEVER },
    ledger: {
      claimTimeout: lease,
      gapWarningTimeout,
      afterPermanentGap,
      ...(firstTick !== undefined && { firstTick }),
    },
    ...(letters && { deadLetters: deadLettersTo(letters.tidemark, letters.topic) }),
  }
}

function sourceOf({ name, options, resources }: Build): { source: BatchSource; identity: string } {
  const { source, scanInterval, lease, maxRetries } = options
  if (source === 'storage') {
    return { source: storageSource({ scanInterval, maxAttempts: maxRetries + 1 }), identity: name }
  }
  const { tidemark, topic, consumerGroup: group, settings, meter } = resources.topic('batches')
  return { source: topicSource(tidemark, { topic, group, lease, settings, meter }), identity: group }
}
