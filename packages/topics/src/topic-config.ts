import type { Backoff } from './backoff.ts'
import { ConfigError, TopicConflictError } from './errors.ts'
import type { Duration } from './options/duration.ts'
import { Options } from './options/options.ts'

/** How messages are distributed: to one consumer (`queue`) or to every group (`pub-sub`). */
export type Semantics = 'queue' | 'pub-sub'
/** How completion is tracked: by watermarks (`offset`) or by bits per message (`reference`). */
export type Tracking = 'offset' | 'reference'

/** Settings of a topic for `configureTopic`. All have a default. */
export type TopicOptions = {
  /**
   * `queue` (default): a single implicit group, each message goes to one consumer. `pub-sub`: every group receives
   * every message.
   */
  semantics?: Semantics
  /**
   * How completion is tracked. `offset` (default): by the watermark of each group, at no cost per message.
   * `reference`: a bit per message and group, for at most 64 groups of a pub-sub topic, which shows who has processed
   * what.
   */
  tracking?: Tracking
  /** Retention of messages that every group has processed (default 24 h). `'forever'` keeps all, for replay. */
  retention?: Duration | 'forever'
  /**
   * Maximum age of a message, processed or not; messages that a group loses are reported. Default: 30 days, or
   * `retention` if that is longer; always `'none'` with retention `'forever'`.
   */
  maxRetention?: Duration | 'none'
  /**
   * Pub-sub only: retention while the topic has no subscription (default 24 h; `'forever'` with retention
   * `'forever'`).
   */
  zeroSubscriptionRetention?: Duration | 'forever'
  /** Pub-sub only: reject a publish with `NoSubscriptionsError` while the topic has no subscription (default false). */
  blockPublishWithoutSubscription?: boolean
  /** Time without progress after which a group with waiting messages is reported as a zombie (default 7 days). */
  zombieTtl?: Duration
  /** Whether zombies are moved to the newest message (default false). The messages they skip are reported as lost. */
  advanceZombies?: boolean
  /** Duration of a claim before other consumers may take it over (default 5 min); 0 never expires. */
  lease?: Duration
  /** Delivery attempts before a message is dead-lettered (default 5). */
  maxAttempts?: number
  /**
   * Delays before a failed message is redelivered: `initial` (default 1 s), multiplied by `factor` (2) each time, at
   * most `max` (1 min, or `initial` if that is longer). Replaced as a whole: parts left out have their defaults again.
   */
  backoff?: { initial?: Duration; max?: Duration; factor?: number }
  /** Time for which a `messageId` is deduplicated (default 7 days). */
  dedupeWindow?: Duration | 'forever'
  /** Maximum size of a message in bytes: payload, key and headers (default 1 MiB). */
  maxMessageBytes?: number
  /** PostgreSQL only: rows per partition of the log (default 1 000 000). Fixed when the topic is created. */
  partitionRows?: number
}

/** Effective settings of a topic, as stored with it. Durations are in milliseconds. */
export type TopicConfig = {
  /** `queue` or `pub-sub`. */
  readonly semantics: Semantics
  /** `offset` or `reference`. */
  readonly tracking: Tracking
  /** Retention of processed messages; null: forever. */
  readonly retentionMs: number | null
  /** Maximum age of a message; null: no maximum. */
  readonly maxRetentionMs: number | null
  /** Retention while the topic has no subscription; null: forever. */
  readonly zeroSubscriptionRetentionMs: number | null
  /** Whether publishing fails while the topic has no subscription. */
  readonly blockPublishWithoutSubscription: boolean
  /** Time without progress after which a group is a zombie. */
  readonly zombieTtlMs: number
  /** Whether zombies are moved to the newest message. */
  readonly advanceZombies: boolean
  /** Duration of a claim; 0 never expires. */
  readonly leaseMs: number
  /** Delivery attempts before a message is dead-lettered. */
  readonly maxAttempts: number
  /** Delays between attempts. */
  readonly backoff: Backoff
  /** Time for which a `messageId` is deduplicated; null: forever. */
  readonly dedupeWindowMs: number | null
  /** Maximum size of a message in bytes. */
  readonly maxMessageBytes: number
  /** PostgreSQL only: rows per partition of the log. */
  readonly partitionRows: number
}

/** Settings whose default follows the retention: it matters whether they were given. */
const FOLLOWING = ['maxRetentionMs', 'zeroSubscriptionRetentionMs'] as const
type Following = (typeof FOLLOWING)[number]

/** Configuration as stored in the database. */
export type StoredTopicConfig = TopicConfig & {
  /** Settings that were set explicitly, among those whose default follows the retention. */
  readonly given?: readonly Following[]
}

const DEFAULT_TOPIC_CONFIG: TopicConfig = {
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

/**
 * 255 MiB. PostgreSQL's driver reads bytes as hexadecimal digits into one string, which in Node is limited to just
 * under 2 x 256 MiB: a larger message could be stored but never read.
 */
const MOST_MESSAGE_BYTES = 255 * 1024 * 1024

/** Only what the caller gave, validated: an existing topic keeps its other settings. */
export function parseTopicOptions(values: unknown): Partial<TopicConfig> {
  const options = new Options('configureTopic', values)
  const backoff = options.nested('backoff')
  const given = {
    semantics: options.oneOf('semantics', ['queue', 'pub-sub'], undefined),
    tracking: options.oneOf('tracking', ['offset', 'reference'], undefined),
    retentionMs: durationOr(options, 'retention', 'forever'),
    maxRetentionMs: durationOr(options, 'maxRetention', 'none'),
    zeroSubscriptionRetentionMs: durationOr(options, 'zeroSubscriptionRetention', 'forever'),
    blockPublishWithoutSubscription: options.boolean('blockPublishWithoutSubscription', undefined),
    zombieTtlMs: options.duration('zombieTtl', undefined),
    advanceZombies: options.boolean('advanceZombies', undefined),
    leaseMs: options.duration('lease', undefined),
    maxAttempts: options.integer('maxAttempts', undefined, { min: 1, max: 1_000 }),
    backoff: backoff && parseBackoff(backoff),
    dedupeWindowMs: durationOr(options, 'dedupeWindow', 'forever'),
    maxMessageBytes: options.integer('maxMessageBytes', undefined, { min: 1, max: MOST_MESSAGE_BYTES }),
    partitionRows: options.integer('partitionRows', undefined, { min: 1, max: 1_000_000_000 }),
  } satisfies Record<keyof TopicConfig, unknown>
  options.done()
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
}

/** null for the word that means "unlimited". */
const durationOr = (options: Options, name: string, endless: string): number | null | undefined =>
  options.value(name) === endless ? null : options.duration(name, undefined)

/** Omitted values follow the given ones: an initial delay of an hour is not cut to the default maximum of a minute. */
function parseBackoff(options: Options): Backoff {
  const defaults = DEFAULT_TOPIC_CONFIG.backoff
  const initial = options.duration('initial', undefined)
  const max = options.duration('max', undefined)
  const factor = options.number('factor', defaults.factor, { min: 1, max: 100 })
  options.done()
  if (initial !== undefined && max !== undefined && max < initial) {
    throw new ConfigError('configureTopic.backoff.max', max, `at least the initial delay, ${initial} ms`)
  }
  const maxMs = max ?? Math.max(defaults.maxMs, initial ?? 0)
  return { initialMs: initial ?? Math.min(defaults.initialMs, maxMs), maxMs, factor }
}

/**
 * Configuration after `configureTopic`. Settings that stored messages depend on can't change: the semantics once
 * there are messages, the partition size after creation.
 *
 * @example
 * const merged = mergeTopicConfig('orders', undefined, { semantics: 'pub-sub', maxAttempts: 3 }, false)
 */
export function mergeTopicConfig(
  name: string,
  current: StoredTopicConfig | undefined,
  given: Partial<TopicConfig>,
  hasMessages: boolean,
): StoredTopicConfig {
  const known = current && givenOf(current)
  const said = FOLLOWING.filter(setting => known?.includes(setting) || given[setting] !== undefined)
  const merged = follow({ ...DEFAULT_TOPIC_CONFIG, ...current, ...given, given: said })
  checkTogether(merged, given)
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

/**
 * Configuration as the program uses it. Settings that an older version did not store have their defaults.
 *
 * @example
 * const { semantics, leaseMs } = readTopicConfig(stored)
 */
export function readTopicConfig(stored: StoredTopicConfig): TopicConfig {
  const { given, ...config } = follow({ ...DEFAULT_TOPIC_CONFIG, ...stored, given: givenOf(stored) })
  return config
}

/**
 * The settings that were given. In a configuration stored before `given` was recorded, those that differ from their default;
 * with retention 'forever' none counts, because nothing could limit it.
 */
function givenOf(stored: StoredTopicConfig): readonly Following[] {
  if (stored.given !== undefined) return stored.given
  return FOLLOWING.filter(setting => stored.retentionMs !== null && stored[setting] !== DEFAULT_TOPIC_CONFIG[setting])
}

function follow(config: StoredTopicConfig & { readonly given: readonly Following[] }): typeof config {
  const { retentionMs, given } = config
  const { maxRetentionMs, zeroSubscriptionRetentionMs } = DEFAULT_TOPIC_CONFIG
  return {
    ...config,
    ...(!given.includes('maxRetentionMs') && {
      maxRetentionMs: retentionMs === null ? null : Math.max(maxRetentionMs ?? 0, retentionMs),
    }),
    ...(!given.includes('zeroSubscriptionRetentionMs') && {
      zeroSubscriptionRetentionMs: retentionMs === null ? null : zeroSubscriptionRetentionMs,
    }),
  }
}

/** Checks combinations of options. `given`: the options of this call, which are to be changed. */
function checkTogether(config: TopicConfig, given: Partial<TopicConfig>): void {
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
  if (maxRetentionMs !== null && (retentionMs === null || maxRetentionMs < retentionMs)) refuseCap(config, given)
}

function refuseCap({ retentionMs, maxRetentionMs }: TopicConfig, given: Partial<TopicConfig>): never {
  if (given.maxRetentionMs === undefined) {
    throw new ConfigError(
      'configureTopic.retention',
      retentionMs ?? 'forever',
      `at most the maxRetention that was given before (${maxRetentionMs} ms). Set maxRetention too: ` +
        (retentionMs === null ? "'none'" : "'none' or a longer one"),
    )
  }
  const allowed =
    retentionMs === null
      ? "'none' together with retention 'forever', which keeps messages forever"
      : `at least the retention (${retentionMs} ms), or 'none'`
  throw new ConfigError('configureTopic.maxRetention', maxRetentionMs, allowed)
}
