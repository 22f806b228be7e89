import type { TopicConfig, TopicOptions } from 'tidemark'
import { type Command, type CommandOptionTable, YES } from '../command.ts'
import { confirm } from '../confirm.ts'
import { DATABASE, withTopics } from '../database.ts'
import { EXIT } from '../exit-codes.ts'
import { type Given, present } from '../given.ts'
import { facts, table } from '../output/table.ts'
import { span } from '../output/units.ts'
import { GROUP_HEADINGS, groupRow } from './group-rows.ts'

const TOPIC = { name: 'topic' } as const

const SETTINGS = {
  semantics: { value: '<kind>', help: 'queue or pub-sub (default queue)' },
  tracking: { value: '<kind>', help: 'offset or reference; an existing topic is switched while its groups run' },
  retention: {
    value: '<duration>',
    help: "retention of messages that every group has consumed: a duration such as '24h', or forever",
  },
  'max-retention': {
    value: '<duration>',
    help: "maximum age of a message, consumed or not: a duration such as '30d', or none (default with --retention forever)",
  },
  'zero-subscription-retention': {
    value: '<duration>',
    help: "retention while the topic has no subscription: a duration such as '24h', or forever (default with --retention forever)",
  },
  'block-publish-without-subscription': {
    value: '<true|false>',
    help: 'whether publishing fails while the topic has no subscription',
  },
  'zombie-ttl': {
    value: '<duration>',
    help: 'time without progress after which a group with waiting messages is reported',
  },
  'advance-zombies': { value: '<true|false>', help: 'whether a group past --zombie-ttl is moved forward' },
  lease: { value: '<duration>', help: 'lease of a claim; 0s never expires' },
  'max-attempts': { value: '<n>', help: 'delivery attempts before a message is dead-lettered' },
  'backoff-initial': {
    value: '<duration>',
    help: 'delay before the second attempt; resets --backoff-max unless given too',
  },
  'backoff-max': {
    value: '<duration>',
    help: 'maximum delay between attempts; resets --backoff-initial unless given too',
  },
  'dedupe-window': { value: '<duration>', help: 'time for which message ids are deduplicated, or forever' },
  'max-message-bytes': { value: '<n>', help: 'maximum size of a message in bytes' },
  'partition-rows': { value: '<n>', help: 'PostgreSQL only: rows per partition of the log; fixed at creation' },
} as const satisfies CommandOptionTable
type Setting = keyof typeof SETTINGS

export const list: Command = {
  name: 'topics list',
  summary: 'List topics with their settings',
  arguments: [],
  options: DATABASE,
  examples: [
    { run: 'tidemark topics list --database sqlite:./data/topics.db', what: 'every topic of the default namespace' },
  ],
  run: (given, surroundings) =>
    withTopics(given, surroundings, async tm => {
      const topics = await tm.admin.topics()
      surroundings.output.result(topics, () =>
        table(
          ['topic', 'semantics', 'tracking', 'retention', 'at most', 'lease', 'attempts'],
          topics.map(({ topic, config }) => [
            topic,
            config.semantics,
            config.tracking,
            span(config.retentionMs, 'forever'),
            span(config.maxRetentionMs, 'none'),
            config.leaseMs === 0 ? 'forever' : span(config.leaseMs, ''),
            config.maxAttempts,
          ]),
        ),
      )
      return EXIT.done
    }),
}

export const describe: Command = {
  name: 'topics describe',
  summary: 'Show a topic with its settings and groups',
  arguments: [TOPIC],
  options: DATABASE,
  examples: [{ run: 'tidemark topics describe orders --json', what: 'everything about the topic, as JSON' }],
  run: (given, surroundings) =>
    withTopics(given, surroundings, async tm => {
      const name = given.argument('topic')
      const { config, messagesPublished } = await tm.admin.describeTopic(name)
      const groups = await tm.admin.groups(name)
      surroundings.output.result({ topic: name, messagesPublished, config, groups }, () => [
        ...facts([
          ['topic', name],
          ['published', messagesPublished],
          ...Object.entries(config).map(
            ([setting, value]) => [setting, typeof value === 'object' ? JSON.stringify(value) : String(value)] as const,
          ),
        ]),
        '',
        ...table(GROUP_HEADINGS, groups.map(groupRow)),
      ])
      return EXIT.done
    }),
}

export const configure: Command = {
  name: 'topics configure',
  summary: 'Create a topic, or change the given settings of an existing one',
  arguments: [TOPIC],
  options: { ...SETTINGS, ...DATABASE },
  examples: [
    {
      run: 'tidemark topics configure orders --semantics pub-sub --retention 7d --max-attempts 3',
      what: 'every group receives every message; at most three attempts each',
    },
  ],
  run: (given, surroundings) => {
    const name = given.argument('topic')
    const options = settingsOf(given)
    return withTopics(given, surroundings, async tm => {
      const existing = (await tm.admin.topics()).find(({ topic }) => topic === name)
      const { tracking, ...others } = options
      const isSwitch = existing !== undefined && tracking !== undefined && tracking !== existing.config.tracking
      let config: TopicConfig = await tm.admin.configureTopic(name, isSwitch ? others : options)
      if (isSwitch) {
        await surroundings.output.liveLine().during(`switching to ${tracking}`, tm.admin.setTracking(name, tracking))
        config = { ...config, tracking }
      }
      const verb = existing === undefined ? 'created' : 'updated'
      surroundings.output.result({ topic: name, created: existing === undefined, config }, () => [
        `Topic '${name}' ${verb}`,
      ])
      return EXIT.done
    })
  },
}

export const remove: Command = {
  name: 'topics delete',
  summary: 'Delete a topic with its messages, groups and dead letters',
  arguments: [TOPIC],
  options: { ...YES, ...DATABASE },
  examples: [{ run: 'tidemark topics delete orders --yes', what: 'no confirmation' }],
  run: (given, surroundings) =>
    withTopics(given, surroundings, async tm => {
      const name = given.argument('topic')
      await tm.admin.describeTopic(name)
      await confirm(given, `Deleting topic '${name}' with all its messages`, surroundings.interrupted)
      await tm.admin.deleteTopic(name)
      surroundings.output.result({ topic: name, deleted: true }, () => [`Topic '${name}' deleted`])
      return EXIT.done
    }),
}

/** All options of `configureTopic`; SETTINGS has their descriptions. */
function settingsOf(given: Given<Setting>): TopicOptions {
  const initial = given.duration('backoff-initial')
  const max = given.duration('backoff-max')
  return present({
    semantics: given.oneOf('semantics', ['queue', 'pub-sub']),
    tracking: given.oneOf('tracking', ['offset', 'reference']),
    retention: given.durationOr('retention', 'forever'),
    maxRetention: given.durationOr('max-retention', 'none'),
    zeroSubscriptionRetention: given.durationOr('zero-subscription-retention', 'forever'),
    blockPublishWithoutSubscription: truth(given, 'block-publish-without-subscription'),
    zombieTtl: given.duration('zombie-ttl'),
    advanceZombies: truth(given, 'advance-zombies'),
    lease: given.duration('lease'),
    maxAttempts: given.whole('max-attempts'),
    backoff: initial === undefined && max === undefined ? undefined : present({ initial, max }),
    dedupeWindow: given.durationOr('dedupe-window', 'forever'),
    maxMessageBytes: given.whole('max-message-bytes'),
    partitionRows: given.whole('partition-rows'),
  } satisfies { [K in keyof Required<TopicOptions>]: TopicOptions[K] | undefined })
}

function truth(given: Given<Setting>, name: Setting): boolean | undefined {
  const word = given.oneOf(name, ['true', 'false'])
  return word === undefined ? undefined : word === 'true'
}
