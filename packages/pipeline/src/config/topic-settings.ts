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
  initial: duration({ says: 'Wait after the first failure.' }),
  max: duration({ says: 'Longest wait.' }),
  factor: number({ says: 'What each wait is multiplied by.', min: 1, max: 100 }),
} as const satisfies OptionTable

/** What `resources.topics.settings.<topic>` takes: the options of `configureTopic`. */
export const TOPIC_SETTINGS = {
  semantics: choice(['pub-sub', 'queue'], {
    says: '`queue`: its consumers compete. `pub-sub`: each group gets everything.',
  }),
  tracking: choice(['offset', 'reference'], { says: 'How completion is tracked (docs/tracking.md).' }),
  retention: endless('forever', 'How long a message is kept once every group has processed it.'),
  maxRetention: endless('none', 'Age at which a message is removed, whatever the groups have done.'),
  zeroSubscriptionRetention: endless('forever', 'How long messages are kept while nobody is subscribed.'),
  blockPublishWithoutSubscription: flag({ says: 'Refuse to publish while nobody is subscribed.' }),
  zombieTtl: duration({ says: 'Time after which a group that has messages waiting and does not move is reported.' }),
  advanceZombies: flag({ says: 'Move such groups on to the present.' }),
  lease: duration({ says: "How long a claim holds. A service's own `lease` goes before it." }),
  maxAttempts: whole({ says: 'Attempts before a message becomes a dead letter.', min: 1, max: 1_000 }),
  backoff: rule<NonNullable<TopicOptions['backoff']>, object>(
    { says: 'Wait before a failed message is tried again.' },
    '`{ initial, max, factor }`',
    (path, value) => checkOptions(path, value, BACKOFF),
  ),
  dedupeWindow: endless('forever', "How long a caller's `messageId` is remembered."),
  maxMessageBytes: whole({ says: 'Size limit of one message.', min: 1, max: 256 * 1024 ** 2 }),
  partitionRows: whole({
    says: 'PostgreSQL: rows per partition. Fixed when the topic is created.',
    min: 1,
    max: 1_000_000_000,
  }),
} as const satisfies OptionTable

/** Those of announcements that can be chosen; the others follow from what announcements are for. */
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
  { says: 'Settings of single topics, by their names: see below.', default: {} },
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
  { says: 'Topics that other programs write or read, so that nobody here has to.', default: [] },
  "names of topics such as `['orders']`",
  (path, value) => {
    const isList = Array.isArray(value) && value.every(each => typeof each === 'string' && isTopicName(each))
    if (!isList) throw new ConfigError(path, value, "names of topics such as ['orders']")
    return value
  },
)
