import { ConfigError, type Logger } from 'tidemark'
import { type CheckedOptions, choice, duration, type OptionTable, text, whole } from '../../config/option-table.ts'
import { parseDuration } from '../../duration.ts'
import type { BoundResources } from '../../resources/bound-resources.ts'
import { BatchIndexer, type BatchIndexerOptions } from '../indexing/batch-indexer.ts'
import { deadLettersTo } from '../indexing/components/dead-letters.ts'
import type { IndexerDefinition } from '../indexing/definition.ts'
import type { BatchSource } from '../indexing/sources/batch-source.ts'
import { storageSource } from '../indexing/sources/storage-source.ts'
import { topicSource } from '../indexing/sources/topic-source.ts'
import { ANNOUNCEMENT_ATTEMPTS } from '../notification-topics.ts'
import type { ServiceBuild } from '../service-type.ts'
import { indexerOptions, RUN_OPTIONS } from './indexer-options.ts'

/** Of every indexer of batches, whatever it makes of them. */
export const BATCH_INDEXER_OPTIONS = {
  ...RUN_OPTIONS,
  source: choice(['topic', 'storage'], {
    says: 'Batches as they are announced, or as they lie in the storage: for archives, and for runs whose announcements are gone.',
    default: 'topic',
  }),
  indexer: text({
    says: 'Whose ledger it is: instances that share the batches have the same.',
    otherwise: 'its consumer group; with the source `storage` its own name',
  }),
  lease: duration({
    says: 'How long a batch in hand is nobody else’s unless it is extended: after a kill it waits for so long.',
    min: 1,
    default: '30s',
  }),
  insertBatchSize: whole({ says: 'Ticks of one flush, at most.', min: 1, default: 1_000 }),
  maxBufferBytes: whole({ says: 'Bytes of ticks in memory, at most.', min: 1, default: 64 * 1024 ** 2 }),
  flushTimeout: duration({ says: 'How long a tick waits for others, at most.', min: 1, default: '5s' }),
  metadataTimeout: duration({
    says: 'Time after which missing metadata is reported as a failure; `0`: never. The indexer waits for it as long as it takes.',
    default: '5m',
  }),
  maxRetries: whole({
    says: 'Of a batch that fails, over all instances, before it is a dead letter. Kills are not counted.',
    min: 0,
    max: ANNOUNCEMENT_ATTEMPTS - 1,
    default: 3,
  }),
  firstTick: whole({
    says: 'First tick of the run. What is missing from there on is a gap.',
    min: 0,
    otherwise: 'whatever arrives first, which has no gap before it',
  }),
  gapWarningTimeout: duration({ says: 'After which missing ticks are reported.', default: '1m' }),
  afterPermanentGap: choice(['wait', 'release'], {
    says: 'Source `storage`: whether what follows a gap goes on waiting then.',
    default: 'wait',
  }),
  metricsWindow: duration({ says: 'What rates and latencies are taken over.', min: 1_000, default: '1m' }),
  scanInterval: duration({ says: 'Source `storage`: how often it is looked through.', min: 1, default: '1s' }),
} as const satisfies OptionTable

export const BATCH_INDEXER_BINDINGS = {
  batches: {
    kind: 'topic-read',
    says: 'Tells which batches are stored; for the source `topic`.',
    semantics: 'own',
    perRun: true,
    optional: true,
  },
  storage: { kind: 'storage-read', says: 'Has them.' },
  index: { kind: 'index', says: 'Gets what is made of them.' },
  deadLetters: {
    kind: 'topic-write',
    says: 'Gets batches that fail again and again.',
    semantics: 'own',
    unread: true,
    optional: true,
  },
} as const

type Build = ServiceBuild<CheckedOptions<typeof BATCH_INDEXER_OPTIONS>>

const DEFAULT_COMPONENTS = ['metadata', 'buffering'] as const
/** A hundred years. */
const NEVER = '36500d'

export async function createBatchIndexer(definition: IndexerDefinition, build: Build): Promise<BatchIndexer> {
  const { name, options, resources, logger } = build
  const { source, identity } = await sourceOf(build)
  const components = definition.components ?? DEFAULT_COMPONENTS
  const hasLetters = resources.has('deadLetters')
  return new NamedBatchIndexer(
    name,
    {
      ...definition,
      name: options.indexer ?? identity,
      components: hasLetters && !components.includes('dlq') ? [...components, 'dlq'] : components,
    },
    { ...settingsOf(options, resources, logger), source },
  )
}

/** Under the name that the configuration gives it, which need not be its ledger's. */
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
  const { metadataTimeout, firstTick, gapWarningTimeout, afterPermanentGap } = options
  const isReported = parseDuration('metadataTimeout', metadataTimeout) > 0
  const letters = resources.has('deadLetters') ? resources.topic('deadLetters') : undefined
  return {
    ...indexerOptions(options, resources, logger),
    insertBatchSize,
    maxBufferBytes,
    flushTimeout,
    maxRetries,
    metricsWindow,
    // The metadata of a new run are a fraction of a second away.
    metadata: { pollInterval: '100ms', maxDuration: isReported ? metadataTimeout : NEVER },
    ledger: {
      claimTimeout: lease,
      gapWarningTimeout,
      afterPermanentGap,
      ...(firstTick !== undefined && { firstTick }),
    },
    ...(letters && { deadLetters: deadLettersTo(letters.tidemark, letters.topic) }),
  }
}

async function sourceOf({ name, options, resources }: Build): Promise<{ source: BatchSource; identity: string }> {
  const { source, scanInterval, lease, maxRetries } = options
  if (source === 'storage') {
    return { source: storageSource({ scanInterval, maxAttempts: maxRetries + 1 }), identity: name }
  }
  if (!resources.has('batches')) {
    const allowed = "topicRead('<topic>', { consumerGroup: '<group>' }), or the source 'storage'"
    throw new ConfigError(`services.${name}.bindings.batches`, undefined, allowed)
  }
  const { tidemark, topic, consumerGroup: group, settings } = resources.topic('batches')
  return { source: topicSource(tidemark, { topic, group, lease, settings }), identity: group }
}
