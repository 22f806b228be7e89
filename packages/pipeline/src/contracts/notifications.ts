/** Converts announcements of stored files between memory and topic messages: envelopes with an Any inside. */

import { randomUUID } from 'node:crypto'
import { create, createRegistry, type Registry } from '@bufbuild/protobuf'
import { type Any, anyPack, anyUnpack } from '@bufbuild/protobuf/wkt'
import { ContractError } from '../errors.ts'
import { requireRunId } from '../run-id.ts'
import { file_tidemark_pipeline_v1_metadata } from './gen/tidemark/pipeline/v1/metadata_pb.ts'
import {
  BatchInfoSchema,
  type DeadLetterMessage,
  DeadLetterMessageSchema,
  file_tidemark_pipeline_v1_notification,
  MetadataInfoSchema,
  type TopicEnvelope,
  TopicEnvelopeSchema,
} from './gen/tidemark/pipeline/v1/notification_pb.ts'
import { file_tidemark_pipeline_v1_storage } from './gen/tidemark/pipeline/v1/storage_pb.ts'
import { file_tidemark_pipeline_v1_tick } from './gen/tidemark/pipeline/v1/tick_pb.ts'
import { fromInt64, toInt64 } from './int64.ts'

/** Announcement of a stored batch. */
export type BatchInfo = {
  /** Id of the run. */
  readonly runId: string
  /** Key of the file in the storage. */
  readonly storageKey: string
  /** First tick. */
  readonly tickStart: number
  /** Last tick. */
  readonly tickEnd: number
  /** Number of ticks. */
  readonly tickCount: number
  /** Time at which the file was written, in milliseconds since 1970. */
  readonly writtenAt: number
}

/** Announcement of stored metadata. */
export type MetadataInfo = {
  /** Id of the run. */
  readonly runId: string
  /** Key of the file in the storage. */
  readonly storageKey: string
  /** Time at which the file was written, in milliseconds since 1970. */
  readonly writtenAt: number
}

/** A message that a service of the pipeline could not process. */
export type DeadLetter = {
  /** Bytes of the message. */
  readonly originalMessage: Uint8Array
  /** Protobuf type of the message. */
  readonly messageType: string
  /** Error of the last attempt. */
  readonly failureReason: string
  /** Number of retries. */
  readonly retryCount: number
  /** Name of the service. */
  readonly sourceService: string
  /** Time of the first failure, in milliseconds since 1970. */
  readonly firstFailureAt: number
  /** Time of the last failure, in milliseconds since 1970. */
  readonly lastFailureAt: number
  /** Stack trace of the last failure. */
  readonly stackTraceLines: readonly string[]
}

/** Generated if not given. */
type Stamp = { readonly messageId?: string; readonly timestamp?: number }

/** Every message type of the pipeline, for `open(url, { registry })`. */
export const contractsRegistry: Registry = createRegistry(
  file_tidemark_pipeline_v1_tick,
  file_tidemark_pipeline_v1_metadata,
  file_tidemark_pipeline_v1_notification,
  file_tidemark_pipeline_v1_storage,
)

/**
 * Wraps the announcement of a batch in the envelope that is published.
 *
 * @example
 * await tm.publish(topicOfRun(BATCH_TOPIC, info.runId), batchEnvelope(info), { messageId: info.storageKey })
 */
export function batchEnvelope(info: BatchInfo, stamp: Stamp = {}): TopicEnvelope {
  const message = create(BatchInfoSchema, {
    simulationRunId: requireRunId(info.runId),
    storageKey: info.storageKey,
    tickStart: toInt64('BatchInfo', 'tickStart', info.tickStart),
    tickEnd: toInt64('BatchInfo', 'tickEnd', info.tickEnd),
    tickCount: toInt64('BatchInfo', 'tickCount', info.tickCount),
    writtenAtMs: toInt64('BatchInfo', 'writtenAt', info.writtenAt),
  })
  return envelope(stamp, anyPack(BatchInfoSchema, message))
}

/**
 * Wraps the announcement of metadata in the envelope that is published.
 *
 * @example
 * const { runId, storageKey, writtenAt } = info
 * const message = metadataEnvelope({ runId, storageKey, writtenAt })
 */
export function metadataEnvelope(info: MetadataInfo, stamp: Stamp = {}): TopicEnvelope {
  const message = create(MetadataInfoSchema, {
    simulationRunId: requireRunId(info.runId),
    storageKey: info.storageKey,
    writtenAtMs: toInt64('MetadataInfo', 'writtenAt', info.writtenAt),
  })
  return envelope(stamp, anyPack(MetadataInfoSchema, message))
}

/**
 * Reads the announcement of a batch from its envelope. Throws a `ContractError` if the envelope contains something
 * else.
 *
 * @example
 * const { storageKey, tickStart, tickEnd } = batchInfoOf(batchEnvelope(info))
 */
export function batchInfoOf(message: TopicEnvelope): BatchInfo {
  const info = message.payload && anyUnpack(message.payload, BatchInfoSchema)
  if (info === undefined) throw unexpected('BatchInfo', message)
  return {
    runId: requireRunId(info.simulationRunId),
    storageKey: info.storageKey,
    tickStart: fromInt64('BatchInfo', 'tick_start', info.tickStart),
    tickEnd: fromInt64('BatchInfo', 'tick_end', info.tickEnd),
    tickCount: fromInt64('BatchInfo', 'tick_count', info.tickCount),
    writtenAt: fromInt64('BatchInfo', 'written_at_ms', info.writtenAtMs),
  }
}

/**
 * Reads the announcement of metadata from its envelope. Throws a `ContractError` if the envelope contains something
 * else.
 *
 * @example
 * const { storageKey } = metadataInfoOf(metadataEnvelope(info))
 */
export function metadataInfoOf(message: TopicEnvelope): MetadataInfo {
  const info = message.payload && anyUnpack(message.payload, MetadataInfoSchema)
  if (info === undefined) throw unexpected('MetadataInfo', message)
  return {
    runId: requireRunId(info.simulationRunId),
    storageKey: info.storageKey,
    writtenAt: fromInt64('MetadataInfo', 'written_at_ms', info.writtenAtMs),
  }
}

/**
 * Converts a dead letter into the message that is published.
 *
 * @example
 * await tm.publish(DEAD_LETTER_TOPIC, deadLetterMessage(letter))
 */
export function deadLetterMessage(letter: DeadLetter): DeadLetterMessage {
  const { firstFailureAt, lastFailureAt, originalMessage, stackTraceLines, ...same } = letter
  return create(DeadLetterMessageSchema, {
    ...same,
    originalMessage: Uint8Array.from(originalMessage),
    stackTraceLines: [...stackTraceLines],
    firstFailureTimeMs: toInt64('DeadLetterMessage', 'firstFailureAt', firstFailureAt),
    lastFailureTimeMs: toInt64('DeadLetterMessage', 'lastFailureAt', lastFailureAt),
  })
}

/**
 * Converts a published message into a dead letter.
 *
 * @example
 * const { sourceService, failureReason } = deadLetterOf(deadLetterMessage(letter))
 */
export function deadLetterOf(message: DeadLetterMessage): DeadLetter {
  const { originalMessage, messageType, failureReason, retryCount, sourceService, stackTraceLines } = message
  return {
    originalMessage,
    messageType,
    failureReason,
    retryCount,
    sourceService,
    stackTraceLines,
    firstFailureAt: fromInt64('DeadLetterMessage', 'first_failure_time_ms', message.firstFailureTimeMs),
    lastFailureAt: fromInt64('DeadLetterMessage', 'last_failure_time_ms', message.lastFailureTimeMs),
  }
}

function envelope({ messageId = randomUUID(), timestamp = Date.now() }: Stamp, payload: Any): TopicEnvelope {
  return create(TopicEnvelopeSchema, {
    messageId,
    timestamp: toInt64('TopicEnvelope', 'timestamp', timestamp),
    payload,
  })
}

function unexpected(wanted: string, { payload }: TopicEnvelope): ContractError {
  return new ContractError('TopicEnvelope', `it contains ${payload?.typeUrl || 'nothing'} instead of a ${wanted}`)
}
