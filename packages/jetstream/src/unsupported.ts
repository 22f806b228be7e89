import { BackfillError, ConfigError } from 'tidemark'
import type { Backfills, ReferenceTracking, SubscriptionRef, TopicConfig, TopicRecord } from 'tidemark/store'

const TRACKING =
  "'offset' on NATS JetStream, which has no reference tracking. Use PostgreSQL or SQLite for such a topic"

/** Before the settings of an existing topic are looked at, whose error would name a way that there is not. */
export function refuseReferences({ tracking }: Partial<TopicConfig>): void {
  if (tracking === 'reference') throw new ConfigError('configureTopic.tracking', tracking, TRACKING)
}

const backfillError = (topic: TopicRecord, { group }: Pick<SubscriptionRef, 'group'>): BackfillError =>
  new BackfillError(
    topic.name,
    group,
    `Topic '${topic.name}' is on NATS JetStream, which has no backfills. Start the group with from: 'beginning', or move ` +
      'it with admin.resetGroup()',
  )

/** Reference tracking: there is none. What runs by itself finds nothing to do. */
export const jetStreamTracking: ReferenceTracking = {
  switch: async (topic, tracking) => {
    if (tracking === 'offset') return topic
    throw new ConfigError('setTracking.tracking', tracking, TRACKING)
  },
  fill: async () => false,
  clearBits: async () => ({ cleared: 0, more: false }),
  completion: async () => {
    throw new ConfigError('topic.tracking', 'offset', "'reference', which NATS JetStream does not have")
  },
  completeOrphans: async () => 0,
}

/** Backfills belong to reference tracking. */
export const jetStreamBackfills: Backfills = {
  start: async (topic, subscription) => {
    throw backfillError(topic, subscription)
  },
  take: async () => null,
  runBatch: async () => 'lost',
  setStatus: async (topic, subscription) => {
    throw backfillError(topic, subscription)
  },
  find: async () => undefined,
}
