import { fromBinary } from '@bufbuild/protobuf'
import { BatchInfoSchema } from '../contracts/gen/tidemark/pipeline/v1/notification_pb.ts'
import { decodeMetadata } from '../contracts/metadata-codec.ts'
import type { DeadLetter } from '../contracts/notifications.ts'
import { tickHeadOf } from '../contracts/tick-codec.ts'
import type { KeptLetter } from '../queues/dead-letter-queue.ts'

/** What was given up: a tick or metadata that could not be stored, a batch that could not be indexed. */
export type LetterKind = 'tick' | 'metadata' | 'batch' | 'other'

/** A dead letter of the pipeline, for people. */
export type PipelineLetter = {
  /** Of the letter: names it in every verb. */
  readonly id: string
  /** The topic that keeps it. */
  readonly topic: string
  readonly kind: LetterKind
  /** Who gave it up: a service, or an indexer. */
  readonly service: string
  readonly reason: string
  readonly attempts: number
  readonly firstFailureAt: Date
  readonly lastFailureAt: Date
  readonly buriedAt: Date
  /** null: what is in the letter can't be read any more. */
  readonly runId: string | null
  readonly tickStart: number | null
  readonly tickEnd: number | null
  /** Of a batch: its file. */
  readonly storageKey: string | null
  readonly bytes: number
  readonly stackTraceLines: readonly string[]
}

type Subject = Pick<PipelineLetter, 'runId' | 'tickStart' | 'tickEnd' | 'storageKey'>

const NOTHING: Subject = { runId: null, tickStart: null, tickEnd: null, storageKey: null }

export function describeLetter(topic: string, { letter, messageId, buriedAt }: KeptLetter): PipelineLetter {
  return {
    id: messageId,
    topic,
    kind: kindOf(letter),
    service: letter.sourceService,
    reason: letter.failureReason,
    attempts: letter.retryCount,
    firstFailureAt: new Date(letter.firstFailureAt),
    lastFailureAt: new Date(letter.lastFailureAt),
    buriedAt,
    ...subjectOf(letter),
    bytes: letter.originalMessage.length,
    stackTraceLines: letter.stackTraceLines,
  }
}

/** By the type's name, with or without the host of a type URL. */
export function kindOf({ messageType }: DeadLetter): LetterKind {
  const name = messageType.slice(messageType.lastIndexOf('.') + 1)
  if (name === 'TickData') return 'tick'
  if (name === 'SimulationMetadata') return 'metadata'
  return name === 'BatchInfo' ? 'batch' : 'other'
}

/** null: it can't be told from what is left of it. */
export const runOfLetter = (letter: DeadLetter): string | null => subjectOf(letter).runId

/** Bytes that nobody can decode are often why it is a letter. */
function subjectOf(letter: DeadLetter): Subject {
  const { originalMessage: bytes } = letter
  try {
    switch (kindOf(letter)) {
      case 'tick': {
        const { runId, tick } = tickHeadOf(bytes)
        return { ...NOTHING, runId, tickStart: tick, tickEnd: tick }
      }
      case 'metadata':
        return { ...NOTHING, runId: decodeMetadata(bytes).runId }
      case 'batch': {
        const { simulationRunId: runId, storageKey, tickStart, tickEnd } = fromBinary(BatchInfoSchema, bytes)
        return { runId, storageKey, tickStart: Number(tickStart), tickEnd: Number(tickEnd) }
      }
      default:
        return NOTHING
    }
  } catch {
    return NOTHING
  }
}
