import type { Tidemark, TopicConfig } from 'tidemark'

export const BATCH_TOPIC = 'batch-topic'
export const METADATA_TOPIC = 'metadata-topic'

/**
 * A kill counts as an attempt, and says nothing against the batch in hand: a process that dies again and again for
 * reasons of its own must not make dead letters of whatever it had. How often a batch may really fail, its indexer
 * decides (`maxRetries`, counted over all instances). What stays past it ends in the topic's dead letters all the same: a
 * batch that kills whoever reads it, a message that is no announcement.
 */
export const ANNOUNCEMENT_ATTEMPTS = 100

/**
 * A file is announced under its storage key, once: the topic remembers keys for ever, in the transaction that stores the
 * announcement. A note kept elsewhere could not: a kill between the two leaves one without the other, and with the
 * default window of seven days a file found unnoted in the second week would be delivered twice.
 *
 * Announcements themselves are kept for ever too, a few hundred bytes for each file: a run that goes on after weeks finds
 * those it had not indexed, an indexer that is added later begins with the run, and the reconciler compares the storage
 * with what was announced, not with what happens to be kept.
 */
export async function configureNotificationTopic(topics: Tidemark, topic: string): Promise<TopicConfig> {
  return await topics.configureTopic(topic, {
    semantics: 'pub-sub',
    dedupeWindow: 'forever',
    retention: 'forever',
    maxRetention: 'none',
    maxAttempts: ANNOUNCEMENT_ATTEMPTS,
  })
}
