import type { Tidemark } from 'tidemark'

export const BATCH_TOPIC = 'batch-topic'
export const METADATA_TOPIC = 'metadata-topic'

/**
 * A file is announced under its storage key, once: the topic remembers keys for ever, in the transaction that stores the
 * announcement. A note kept elsewhere could not: a kill between the two leaves one without the other, and with the
 * default window of seven days a file found unnoted in the second week would be delivered twice.
 */
export async function configureNotificationTopic(topics: Tidemark, topic: string): Promise<void> {
  await topics.configureTopic(topic, { semantics: 'pub-sub', dedupeWindow: 'forever' })
}
