import type { Duration } from './duration.ts'
import { ConfigError, TopicConflictError } from './errors.ts'
import { Options } from './options.ts'

export type Semantics = 'queue' | 'pub-sub'
export type Tracking = 'offset' | 'reference'

/** What `configureTopic` takes. Everything has a default. */
export type TopicOptions = {
  /** `queue`: one implicit group, each message to one consumer. `pub-sub`: each group gets everything. */
  semantics?: Semantics
  /**
   * How completion is tracked. `offset`: by each group's watermark, at no cost per message. `reference`: a bit per
   * message and group, for at most 64 groups of a pub-sub topic, so that it can be seen who has processed what.
   */
  tracking?: Tracking
  /** How long a message is kept once every group has processed it; 'forever' keeps all, for replay. */
  retention?: Duration | 'forever'
  /** After this a message goes whatever the groups have done; what a group loses that way is reported. */
  maxRetention?: Duration | 'none'
  /** Pub-sub: how long messages are kept while nobody is subscribed. */
  zeroSubscriptionRetention?: Duration
  /** Pub-sub: reject a publish with NoSubscriptionsError while nobody is subscribed. */
  blockPublishWithoutSubscription?: boolean
  /** A group with messages waiting that has not moved for this long is reported as a zombie. */
  zombieTtl?: Duration
  /** Move zombies on to the present; what they had not processed is lost to them, visibly. */
  advanceZombies?: boolean
  /** How long a claim holds before others may take it over; 0 = for ever. */
  lease?: Duration
  /** How often a message is tried before it becomes a dead letter. */
  maxAttempts?: number
  /** The wait before a failed message is tried again: `initial`, then times `factor` each time, at most `max`. */
  backoff?: { initial?: Duration; max?: Duration; factor?: number }
  /** How long a caller's `messageId` is remembered. */
  dedupeWindow?: Duration | 'forever'
  /** Size limit of one message: payload, key and headers together. */
  maxMessageBytes?: number
  /** PostgreSQL: rows per partition of the topic's log. Fixed when the topic is created. */
  partitionRows?: number
}

export type Backoff = { readonly initialMs: number; readonly maxMs: number; readonly factor: number }

/** The checked configuration, as it is stored beside the topic. */
export type TopicConfig = {
  readonly semantics: Semantics
  readonly tracking: Tracking
  /** null = for ever */
  readonly retentionMs: number | null
  /** null = no cap */
  readonly maxRetentionMs: number | null
  readonly zeroSubscriptionRetentionMs: number
  readonly blockPublishWithoutSubscription: boolean
  readonly zombieTtlMs: number
  readonly advanceZombies: boolean
  readonly leaseMs: number
  readonly maxAttempts: number
  readonly backoff: Backoff
  /** null = for ever */
  readonly dedupeWindowMs: number | null
  readonly maxMessageBytes: number
  readonly partitionRows: number
}

export const DEFAULT_TOPIC_CONFIG: TopicConfig = {
  semantics: 'queue',
  tracking: 'offset',
  retentionMs: 86_400_000,
  maxRetentionMs: 30 * 86_400_000,
  zeroSubscriptionRetentionMs: 86_400_000,
  blockPublishWithoutSubscription: false,
  zombieTtlMs: 7 * 86_400_000,
  advanceZombies: false,
  leaseMs: 5 * 60_000,
  maxAttempts: 5,
  backoff: { initialMs: 1_000, maxMs: 60_000, factor: 2 },
  dedupeWindowMs: 7 * 86_400_000,
  maxMessageBytes: 1024 * 1024,
  partitionRows: 1_000_000,
}

/** Only what the caller gave, checked: a topic that exists keeps its other settings. */
export function parseTopicOptions(values: unknown): Partial<TopicConfig> {
  const options = new Options('configureTopic', values)
  const backoff = options.nested('backoff')
  const given = {
    semantics: options.oneOf('semantics', ['queue', 'pub-sub'], undefined),
    tracking: options.oneOf('tracking', ['offset', 'reference'], undefined),
    retentionMs: durationOr(options, 'retention', 'forever'),
    maxRetentionMs: durationOr(options, 'maxRetention', 'none'),
    zeroSubscriptionRetentionMs: options.duration('zeroSubscriptionRetention', undefined),
    blockPublishWithoutSubscription: options.boolean('blockPublishWithoutSubscription', undefined),
    zombieTtlMs: options.duration('zombieTtl', undefined),
    advanceZombies: options.boolean('advanceZombies', undefined),
    leaseMs: options.duration('lease', undefined),
    maxAttempts: options.integer('maxAttempts', undefined, { min: 1, max: 1_000 }),
    backoff: backoff && parseBackoff(backoff),
    dedupeWindowMs: durationOr(options, 'dedupeWindow', 'forever'),
    maxMessageBytes: options.integer('maxMessageBytes', undefined, { min: 1, max: 256 * 1024 * 1024 }),
    partitionRows: options.integer('partitionRows', undefined, { min: 1, max: 1_000_000_000 }),
  }
  options.done()
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
}

/** null for the word that means "without end". */
const durationOr = (options: Options, name: string, endless: string): number | null | undefined =>
  options.value(name) === endless ? null : options.duration(name, undefined)

function parseBackoff(options: Options): Backoff {
  const defaults = DEFAULT_TOPIC_CONFIG.backoff
  const backoff = {
    initialMs: options.duration('initial', defaults.initialMs),
    maxMs: options.duration('max', defaults.maxMs),
    factor: options.number('factor', defaults.factor, { min: 1, max: 100 }),
  }
  options.done()
  return backoff
}

/** The wait after a failed attempt, with up to a tenth of jitter so that failures of one moment spread out. */
export function backoffDelay({ initialMs, maxMs, factor }: Backoff, attempt: number, random = Math.random): number {
  const exact = Math.min(maxMs, initialMs * factor ** (attempt - 1))
  return Math.round(exact * (1 - 0.1 * random()))
}

/**
 * The configuration after `configureTopic`. What the messages already stored depend on can't change: the semantics once
 * there are any, the partition size from the start.
 */
export function mergeTopicConfig(
  name: string,
  current: TopicConfig | undefined,
  given: Partial<TopicConfig>,
  hasMessages: boolean,
): TopicConfig {
  const merged = { ...DEFAULT_TOPIC_CONFIG, ...current, ...given }
  checkTogether(merged)
  if (current === undefined) return merged
  if (merged.tracking !== current.tracking) {
    throw new TopicConflictError(
      name,
      `Topic '${name}' is tracked by ${current.tracking}. Switch it with tm.admin.setTracking('${name}', '${merged.tracking}')`,
    )
  }
  if (merged.semantics !== current.semantics && hasMessages) {
    throw new TopicConflictError(
      name,
      `Topic '${name}' has messages and is '${current.semantics}'; it can't become '${merged.semantics}'. Use a new topic`,
    )
  }
  if (merged.partitionRows !== current.partitionRows) {
    throw new TopicConflictError(
      name,
      `Topic '${name}' was created with partitionRows ${current.partitionRows}, which can't change. Use a new topic`,
    )
  }
  return merged
}

/** What no single option can tell. */
function checkTogether(config: TopicConfig): void {
  const { semantics, tracking, leaseMs, retentionMs, maxRetentionMs, blockPublishWithoutSubscription } = config
  if (semantics === 'queue' && tracking === 'reference') {
    throw new ConfigError('configureTopic.tracking', tracking, "'offset' in a queue; 'reference' is for pub-sub topics")
  }
  if (semantics === 'queue' && blockPublishWithoutSubscription) {
    throw new ConfigError(
      'configureTopic.blockPublishWithoutSubscription',
      true,
      'false in a queue: it keeps all until it is consumed',
    )
  }
  if (retentionMs !== null && retentionMs < leaseMs) {
    throw new ConfigError('configureTopic.retention', retentionMs, `at least the lease (${leaseMs} ms), or 'forever'`)
  }
  if (maxRetentionMs !== null && maxRetentionMs < Math.max(leaseMs, retentionMs ?? 0)) {
    throw new ConfigError(
      'configureTopic.maxRetention',
      maxRetentionMs,
      `at least the retention (${retentionMs ?? 'forever'}) and the lease (${leaseMs} ms), or 'none'`,
    )
  }
}
