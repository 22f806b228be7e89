import type { Tidemark, TopicConfig, TopicOptions } from 'tidemark'
import { isRunId, requireRunId } from '../run-id.ts'

/**
 * Name of the topics of batch announcements in a configuration. Each run has its own topic under this name:
 * `topicOfRun`.
 */
export const BATCH_TOPIC = 'batch-topic'
/** Name of the topics of metadata announcements in a configuration. */
export const METADATA_TOPIC = 'metadata-topic'

/** Header of an announcement that was repeated for one indexer: the others have the batch. */
export const FOR_INDEXER = 'tidemark-for-indexer'

/**
 * A kill counts as an attempt, but does not mean that the batch is at fault: a process that dies again and again for
 * its own reasons must not dead-letter whatever it held. The indexer decides how often a batch may really fail
 * (`maxRetries`, counted over all instances). What exceeds this limit still ends in the topic's dead letters: a batch
 * that kills every reader, or a message that is no announcement.
 */
export const ANNOUNCEMENT_ATTEMPTS = 100

/**
 * Topic of a run's announcements. An indexer of one run never receives those of another, and they are removed with
 * the run. A namespace per run would do the same, but require a connection pool, a listener and maintenance for each
 * run that a process reads (docs/guides/pipeline.md).
 *
 * @example
 * const topic = topicOfRun(BATCH_TOPIC, run)
 */
export const topicOfRun = (topic: string, runId: string): string => `${topic}.${requireRunId(runId)}`

/**
 * Run of a topic of announcements, or undefined.
 *
 * @example
 * const same = runOfTopic(topicOfRun(BATCH_TOPIC, run)) // the run
 */
export function runOfTopic(name: string): string | undefined {
  const runId = name.slice(name.lastIndexOf('.') + 1)
  return isRunId(runId) ? runId : undefined
}

/** Settings of announcement topics that a configuration may change. */
export type AnnouncementSettings = Pick<
  TopicOptions,
  'lease' | 'maxAttempts' | 'backoff' | 'tracking' | 'zombieTtl' | 'partitionRows'
>

/**
 * A file is announced once, under its storage key: the topic deduplicates keys for ever, in the transaction that stores the
 * announcement. A record kept elsewhere could not do that: a kill between the two leaves one without the other, and with
 * the default window of seven days a file found unrecorded in the second week would be delivered twice.
 *
 * Announcements are kept for ever too, a few hundred bytes per file: a run that continues after weeks finds those it had
 * not indexed, an indexer that is added later starts at the beginning of the run, and the reconciler compares the storage
 * with everything that was announced, not with what happens to be retained.
 *
 * @example
 * await configureNotificationTopic(tm, topicOfRun(BATCH_TOPIC, run))
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
