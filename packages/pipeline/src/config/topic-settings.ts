import { ConfigError, type Duration, type TopicOptions } from 'tidemark'
import { parseDuration } from '../duration.ts'
import {
  checkOptions,
  choice,
  duration,
  flag,
  number,
  type OptionTable,
  requireObject,
  rule,
  whole,
} from './option-table.ts'

const endless = <const Word extends string>(word: Word, says: string) =>
  rule<Duration | Word, object>({ says }, `a duration such as \`'24h'\`, or \`'${word}'\``, (path, value) => {
    if (value !== word) parseDuration(path, value as Duration)
    return value as Duration | Word
  })

const BACKOFF = {
  initial: duration({ says: 'Delay after the first failure.' }),
  max: duration({ says: 'Maximum delay.' }),
  factor: number({ says: 'Factor by which each delay grows.', min: 1, max: 100 }),
} as const satisfies OptionTable

/** `resources.topics.settings.<topic>` takes all options of `configureTopic`. */
export const TOPIC_SETTINGS = {
  semantics: choice(['pub-sub', 'queue'], {
    says: '`queue`: consumers compete for messages. `pub-sub`: every group receives every message.',
  }),
  tracking: choice(['offset', 'reference'], { says: 'How completion is tracked (docs/guides/fan-out.md).' }),
  retention: endless('forever', 'Retention of messages that every group has processed.'),
  maxRetention: endless('none', 'Maximum age of a message, processed or not.'),
  zeroSubscriptionRetention: endless('forever', 'Retention while the topic has no subscription.'),
  blockPublishWithoutSubscription: flag({ says: 'Refuse to publish while the topic has no subscription.' }),
  zombieTtl: duration({ says: 'Time without progress after which a group with waiting messages is reported.' }),
  advanceZombies: flag({ says: 'Move such groups to the newest message.' }),
  lease: duration({ says: "Lease of a claim. A service's own `lease` takes precedence." }),
  maxAttempts: whole({ says: 'Delivery attempts before a message is dead-lettered.', min: 1, max: 1_000 }),
  backoff: rule<NonNullable<TopicOptions['backoff']>, object>(
    { says: 'Delays before a failed message is redelivered.' },
    '`{ initial, max, factor }`',
    (path, value) => checkOptions(path, value, BACKOFF),
  ),
  dedupeWindow: endless('forever', 'Time for which a `messageId` is deduplicated.'),
  maxMessageBytes: whole({ says: 'Maximum size of a message in bytes.', min: 1, max: 255 * 1024 ** 2 }),
  partitionRows: whole({
    says: 'PostgreSQL only: rows per partition; fixed at creation.',
    min: 1,
    max: 1_000_000_000,
  }),
} as const satisfies OptionTable & Record<keyof TopicOptions, unknown>

/** Settings of announcement topics that can be chosen; the others follow from their purpose. */
export const ANNOUNCEMENT_SETTINGS = [
  'lease',
  'maxAttempts',
  'backoff',
  'tracking',
  'zombieTtl',
  'partitionRows',
] as const

export type TopicSettings = { readonly [topic: string]: TopicOptions }

const TOPIC = /^[a-z0-9][a-z0-9._-]{0,127}$/i

export const isTopicName = (name: string): boolean => TOPIC.test(name)

export const topicSettings = rule<TopicSettings, { readonly default: TopicSettings }>(
  { says: 'Settings of individual topics by name; see below.', default: {} },
  "an object such as `{ 'batch-topic': { maxAttempts: 20 } }`",
  (path, value) => {
    const checked = Object.entries(requireObject(path, value)).map(([topic, options]) => {
      if (!isTopicName(topic)) throw new ConfigError(`${path}: a name`, topic, 'the name of a topic')
      return [topic, checkOptions(`${path}.${topic}`, options, TOPIC_SETTINGS) as TopicOptions]
    })
    return Object.fromEntries(checked)
  },
)

export const externalTopics = rule<readonly string[], { readonly default: readonly string[] }>(
  {
    says: 'Topics written or read by other programs. The check does not expect a reader and a writer for them here.',
    default: [],
  },
  "names of topics such as `['orders']`",
  (path, value) => {
    const isList = Array.isArray(value) && value.every(each => typeof each === 'string' && isTopicName(each))
    if (!isList) throw new ConfigError(path, value, "names of topics such as ['orders']")
    return value
  },
)
