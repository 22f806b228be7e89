import type { Tidemark, TopicConfig, TopicOptions } from 'tidemark'
import { isRunId, requireRunId } from '../run-id.ts'

/** What a configuration calls them. Each run has a topic of its own under each of these names: `topicOfRun`. */
export const BATCH_TOPIC = 'batch-topic'
export const METADATA_TOPIC = 'metadata-topic'

/** A header of an announcement that was made again for one indexer: the others have the batch. */
export const FOR_INDEXER = 'tidemark-for-indexer'

/**
 * A kill counts as an attempt, and says nothing against the batch in hand: a process that dies again and again for
 * reasons of its own must not make dead letters of whatever it had. How often a batch may really fail, its indexer
 * decides (`maxRetries`, counted over all instances). What stays past it ends in the topic's dead letters all the same: a
 * batch that kills whoever reads it, a message that is no announcement.
 */
export const ANNOUNCEMENT_ATTEMPTS = 100

/**
 * The topic that carries a run's announcements, and nobody else's: an indexer of one run never receives those of another,
 * and a run that is removed takes its announcements with it. A namespace for each run would do the same at the price of a
 * connection pool, a listener and maintenance for each run that a process looks at (docs/guides/pipeline.md).
 */
export const topicOfRun = (topic: string, runId: string): string => `${topic}.${requireRunId(runId)}`

/** The run whose topic this is; undefined: it is nobody's. */
export function runOfTopic(name: string): string | undefined {
  const runId = name.slice(name.lastIndexOf('.') + 1)
  return isRunId(runId) ? runId : undefined
}

/** What a configuration may set of announcements; the rest is fixed by what they are for. */
export type AnnouncementSettings = Pick<
  TopicOptions,
  'lease' | 'maxAttempts' | 'backoff' | 'tracking' | 'zombieTtl' | 'partitionRows'
>

/**
 * A file is announced under its storage key, once: the topic remembers keys for ever, in the transaction that stores the
 * announcement. A note kept elsewhere could not: a kill between the two leaves one without the other, and with the
 * default window of seven days a file found unnoted in the second week would be delivered twice.
 *
 * Announcements themselves are kept for ever too, a few hundred bytes for each file: a run that goes on after weeks finds
 * those it had not indexed, an indexer that is added later begins with the run, and the reconciler compares the storage
 * with what was announced, not with what happens to be kept.
 */
export async function configureNotificationTopic(
  topics: Tidemark,
  topic: string,
  settings: AnnouncementSettings = {},
): Promise<TopicConfig> {
  return await topics.configureTopic(topic, {
    maxAttempts: ANNOUNCEMENT_ATTEMPTS,
    ...settings,
    semantics: 'pub-sub',
    dedupeWindow: 'forever',
    retention: 'forever',
    maxRetention: 'none',
  })
}
