import { fromBinary } from '@bufbuild/protobuf'
import { BatchInfoSchema } from '../contracts/gen/tidemark/pipeline/v1/notification_pb.ts'
import { decodeMetadata } from '../contracts/metadata-codec.ts'
import type { DeadLetter } from '../contracts/notifications.ts'
import { tickHeadOf } from '../contracts/tick-codec.ts'
import type { KeptLetter } from '../queues/dead-letter-queue.ts'

/** What a dead letter contains: a tick or metadata that could not be stored, or a batch that could not be indexed. */
export type LetterKind = 'tick' | 'metadata' | 'batch' | 'other'

/** A dead letter of the pipeline. */
export type PipelineLetter = {
  /** Id of the dead letter. */
  readonly id: string
  /** Topic that contains it. */
  readonly topic: string
  /** What it contains. */
  readonly kind: LetterKind
  /** Service or indexer that gave up. */
  readonly service: string
  /** Error of the last attempt. */
  readonly reason: string
  /** Number of attempts. */
  readonly attempts: number
  /** Time of the first failure. */
  readonly firstFailureAt: Date
  /** Time of the last failure. */
  readonly lastFailureAt: Date
  /** Time at which it was dead-lettered. */
  readonly buriedAt: Date
  /** Id of the run, or null if the content can't be decoded. */
  readonly runId: string | null
  /** First tick, or null. */
  readonly tickStart: number | null
  /** Last tick, or null. */
  readonly tickEnd: number | null
  /** Key of the file of a batch, or null. */
  readonly storageKey: string | null
  /** Size of the content in bytes. */
  readonly bytes: number
  /** Stack trace of the last failure. */
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

/** Determined by the type's name, with or without the host of a type URL. */
export function kindOf({ messageType }: DeadLetter): LetterKind {
  const name = messageType.slice(messageType.lastIndexOf('.') + 1)
  if (name === 'TickData') return 'tick'
  if (name === 'SimulationMetadata') return 'metadata'
  return name === 'BatchInfo' ? 'batch' : 'other'
}

/** null: it can't be determined. */
export const runOfLetter = (letter: DeadLetter): string | null => subjectOf(letter).runId

/** Undecodable bytes are often the reason for the dead letter. */
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
