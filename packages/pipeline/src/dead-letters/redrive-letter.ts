import { fromBinary } from '@bufbuild/protobuf'
import type { Tidemark } from 'tidemark'
import { BatchInfoSchema } from '../contracts/gen/tidemark/pipeline/v1/notification_pb.ts'
import { decodeMetadata } from '../contracts/metadata-codec.ts'
import { batchEnvelope, metadataEnvelope } from '../contracts/notifications.ts'
import { tickHeadOf } from '../contracts/tick-codec.ts'
import { IndexNotFoundError } from '../databases/errors.ts'
import { openIndex } from '../databases/open-index.ts'
import { retryFailed } from '../ledger/operate-ledgers.ts'
import type { KeptLetter } from '../queues/dead-letter-queue.ts'
import {
  BATCH_TOPIC,
  configureNotificationTopic,
  FOR_INDEXER,
  METADATA_TOPIC,
  topicOfRun,
} from '../services/notification-topics.ts'
import { StoredTicks } from '../services/persistence/stored-ticks.ts'
import { batchOf } from '../storage/batch-order.ts'
import type { Storage } from '../storage/storage.ts'
import { kindOf } from './letter.ts'

/** Where given-up ticks and batches go when they are redriven. */
export type RedriveTargets = {
  /** Topics of the pipeline. */
  readonly topics: Tidemark
  /** Storage of the batches. */
  readonly storage: Storage
  /** Addresses of the runs' indexes: a batch that failed there can be claimed again. */
  readonly indexes: readonly string[]
}

/** Repeats what failed before. Rejects with the new error; the dead letter then stays. */
export async function redriveLetter(kept: KeptLetter, targets: RedriveTargets): Promise<void> {
  const { originalMessage: bytes } = kept.letter
  switch (kindOf(kept.letter)) {
    case 'tick':
      return await storeTick(bytes, targets)
    case 'metadata': {
      const info = await targets.storage.writeMetadata(decodeMetadata(bytes))
      const topic = topicOfRun(METADATA_TOPIC, info.runId)
      return await announce(targets, topic, metadataEnvelope(info), info.storageKey)
    }
    case 'batch':
      return await indexAgain(kept, targets)
    case 'other':
      throw new Error(
        `A dead letter of type ${kept.letter.messageType} can't be redriven. Discard it, or handle it yourself`,
      )
  }
}

/** Stored as a batch of its own, unless somebody has stored it meanwhile. */
async function storeTick(bytes: Uint8Array, targets: RedriveTargets): Promise<void> {
  const { runId, tick } = tickHeadOf(bytes)
  const { storage } = targets
  if ((await new StoredTicks(storage).between(runId, tick, tick)).has(tick)) return
  const stored = await storage.writeBatch(batchOf([{ runId, tick, bytes }]))
  await announce(targets, topicOfRun(BATCH_TOPIC, runId), batchEnvelope(stored), stored.storageKey)
}

/** By its indexer alone. The file is verified first: a corrupt or quarantined one would only fail again. */
async function indexAgain({ letter, messageId }: KeptLetter, targets: RedriveTargets): Promise<void> {
  const { storageKey } = fromBinary(BatchInfoSchema, letter.originalMessage)
  const info = await targets.storage.describeBatch(storageKey)
  for (const address of targets.indexes) {
    if (await isRetried(address, info.runId, letter.sourceService, storageKey)) return
  }
  const topic = topicOfRun(BATCH_TOPIC, info.runId)
  await configureNotificationTopic(targets.topics, topic)
  const headers = { [FOR_INDEXER]: letter.sourceService }
  // Under another key: under the file's own it has been announced before.
  await targets.topics.publish(topic, batchEnvelope(info), { messageId: `${storageKey}#${messageId}`, headers })
}

/** If the indexer takes its batches from the storage, its ledger records that this one failed. */
async function isRetried(address: string, runId: string, indexer: string, key: string): Promise<boolean> {
  try {
    await using database = await openIndex(address, runId, { create: false })
    return await retryFailed(database, indexer, key)
  } catch (error) {
    if (error instanceof IndexNotFoundError) return false
    throw error
  }
}

async function announce(
  { topics }: RedriveTargets,
  topic: string,
  envelope: ReturnType<typeof batchEnvelope>,
  messageId: string,
): Promise<void> {
  await configureNotificationTopic(topics, topic)
  await topics.publish(topic, envelope, { messageId })
}
