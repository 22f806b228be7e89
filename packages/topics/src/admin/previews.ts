import { type From, parseFrom } from '../consume/start-position.ts'
import type { Runtime } from '../runtime.ts'
import type { CountedRange, RangeEnd } from '../stores/subscriptions.ts'
import { parseTopicOptions, type TopicConfig, type TopicOptions } from '../topic-config.ts'
import { findGroup, findTopic } from './find-records.ts'

/** What `resetGroup` to a position would do. */
export type ResetPreview = {
  /** Id up to which the group has claimed. */
  readonly from: number
  /** Id after which it would continue. */
  readonly to: number
  /** `back`: messages between the positions are delivered again. `forward`: they are never delivered. */
  readonly direction: 'back' | 'forward' | 'none'
  /** Number of messages between the two positions. */
  readonly messages: number
  /** Whether `messages` and `waiting` are upper limits: PostgreSQL counts up to 100 000, and beyond that by ids. */
  readonly atMost: boolean
  /** Number of messages that would be waiting for the group. */
  readonly waiting: number
  /** First message between the two positions, or null. */
  readonly first: PreviewedMessage | null
  /** Last message between the two positions, or null. */
  readonly last: PreviewedMessage | null
  /** Number of messages in flight. They are released, and may be processed twice. */
  readonly inFlight: number
  /** Number of waiting redeliveries that are deleted. */
  readonly retries: number
}

/** A message at the end of a range. */
export type PreviewedMessage = {
  /** Id of the message. */
  readonly id: number
  /** Time of the publish. */
  readonly at: Date
  /** Key of the message, or null. */
  readonly key: string | null
}

/** What `configureTopic` would change. */
export type ConfigPreview = {
  /** Settings that would change. */
  readonly changes: readonly ConfigChange[]
  /** Number of messages that the next clean-up could remove then; on PostgreSQL an upper limit. */
  readonly mayRemove: number
}

/** A setting that would change. */
export type ConfigChange = {
  /** Name of the effective setting, such as `retentionMs`. */
  readonly setting: keyof TopicConfig
  /** Current value. */
  readonly from: TopicConfig[keyof TopicConfig]
  /** New value. */
  readonly to: TopicConfig[keyof TopicConfig]
}

/** Messages that are counted one by one. */
const MOST_COUNTED = 100_000

export async function previewReset(runtime: Runtime, name: string, group: string, to: From): Promise<ResetPreview> {
  const position = parseFrom('previewReset.to', to)
  const { topic, subscription } = await findGroup(runtime, name, group)
  const { store } = runtime
  const { fromId, toId, between, waiting } = await store.subscriptions.previewReset(
    topic,
    subscription,
    position,
    MOST_COUNTED,
  )
  const { groups } = await store.inspection.describe(topic)
  const held = groups.find(each => each.group === subscription.group)
  return {
    from: fromId,
    to: toId,
    direction: directionOf(fromId, toId, between),
    messages: between.count,
    atMost: !between.isExact || !waiting.isExact,
    waiting: waiting.count,
    first: toMessage(between.first),
    last: toMessage(between.last),
    inFlight: held?.inFlight ?? 0,
    retries: held?.retries ?? 0,
  }
}

function directionOf(from: number, to: number, { count }: CountedRange): ResetPreview['direction'] {
  if (count === 0) return 'none'
  return to < from ? 'back' : 'forward'
}

const toMessage = (end: RangeEnd | null): PreviewedMessage | null => end && { ...end, at: new Date(end.at) }

export async function previewTopic(runtime: Runtime, name: string, options: TopicOptions): Promise<ConfigPreview> {
  const given = parseTopicOptions(options)
  const topic = await findTopic(runtime, name)
  const { config, removable } = await runtime.store.topics.preview(topic, given)
  const settings = Object.keys(config) as (keyof TopicConfig)[]
  const changes = settings
    .filter(setting => JSON.stringify(config[setting]) !== JSON.stringify(topic.config[setting]))
    .map(setting => ({ setting, from: topic.config[setting], to: config[setting] }))
  return { changes, mayRemove: removable }
}
