import { Type } from 'typebox'
import { Count, nullable, strict, Time } from './common.ts'
import { share } from './shared.ts'

export const LetterId = Type.String({ minLength: 1, maxLength: 1_024, description: 'Id of the dead letter.' })

const Tick = Type.Integer({ minimum: 0 })

export const PipelineLetterSchema = share(
  'PipelineLetter',
  strict({
    id: LetterId,
    topic: Type.String({ description: 'Topic in which the dead letter is stored.' }),
    kind: Type.Enum(['tick', 'metadata', 'batch', 'other']),
    service: Type.String({ description: 'Service or indexer that gave it up.' }),
    reason: Type.String(),
    attempts: Count,
    firstFailureAt: Time,
    lastFailureAt: Time,
    buriedAt: Time,
    runId: nullable(Type.String({ description: "null if the dead letter can't be decoded." })),
    tickStart: nullable(Tick),
    tickEnd: nullable(Tick),
    storageKey: nullable(Type.String({ description: 'File of a batch.' })),
    bytes: Count,
  }),
)

export const FailedBatchSchema = share(
  'FailedBatch',
  strict({
    indexer: Type.String(),
    key: Type.String(),
    tickStart: Tick,
    tickEnd: Tick,
    attempts: Count,
    failedAt: nullable(Time),
    error: nullable(Type.String()),
  }),
)
