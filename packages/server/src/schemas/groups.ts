import { Type } from 'typebox'
import { Count, DurationGiven, GroupName, Id, nullable, strict, Time, TopicName } from './common.ts'
import { share } from './shared.ts'

export const GroupParams = strict({ topic: TopicName, group: GroupName })

export const Failure = strict({ name: Type.String(), message: Type.String() })

export const BackfillFields = {
  preset: Type.Optional(Type.Enum(['conservative', 'aggressive'])),
  scope: Type.Optional(Type.Enum(['pending', 'retained'])),
  maxMessages: Type.Optional(
    Type.Union([Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }), Type.Literal('all')]),
  ),
  batchSize: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 })),
  maxPerSecond: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000_000 })),
  targetLatency: Type.Optional(DurationGiven),
}

export const BackfillGiven = strict(BackfillFields)

export const BackfillProgress = share(
  'BackfillProgress',
  strict({
    status: Type.Enum(['RUNNING', 'COMPLETED', 'CANCELLED', 'FAILED']),
    scope: Type.Enum(['pending', 'retained']),
    processed: Count,
    progress: Type.Number({ description: 'Progress, 0 to 1.' }),
    claimed: Type.Number({ description: 'Share of the backfilled messages that consumers have claimed, 0 to 1.' }),
    ratePerSecond: Type.Number(),
    etaMs: nullable(Type.Number()),
    slowed: Type.Boolean({ description: 'Whether live traffic slows it down.' }),
    startedAt: Time,
    updatedAt: Time,
    endedAt: nullable(Time),
    error: nullable(Type.String()),
  }),
)

const Percentiles = share(
  'Percentiles',
  strict(
    {
      count: Type.Number(),
      p50: Type.Number(),
      p95: Type.Number(),
      p99: Type.Number(),
      max: Type.Number(),
    },
    { description: 'In milliseconds.' },
  ),
)

export const Consumer = strict({
  topic: Type.String(),
  group: Type.String({ description: 'Name of the group; empty for a queue.' }),
  consumer: Type.String(),
  instance: Type.String({ description: 'Process in which the consumer runs.' }),
  processed: Count,
  failed: Count,
  handler: Percentiles,
  startedAt: Time,
  lastActiveAt: nullable(Time),
  reportedAt: Time,
})

/** Where a group stands, in whatever shows it. */
export const GroupPosition = {
  group: Type.String({ description: 'Name of the group; empty for a queue.' }),
  status: Type.Enum(['ACTIVE', 'PAUSED', 'DEAD', 'CANCELLED']),
  healthy: Type.Boolean(),
  cursor: Type.Integer({ minimum: 0, description: 'Id up to which the group has claimed.' }),
  watermark: Type.Integer({ minimum: 0, description: 'Id up to which the group has settled everything.' }),
  lagMessages: Count,
  lagMs: Type.Number(),
  inFlight: Count,
}

export const Member = strict({
  consumer: Type.String({ description: 'Names of its consumers, joined by commas.' }),
  host: nullable(Type.String()),
  pid: nullable(Type.Integer()),
  since: nullable(Time),
  inFlight: nullable(
    Type.Integer({
      minimum: 0,
      description: 'null if another process has consumers of the same names, and they can not be told apart.',
    }),
  ),
  until: nullable(Time),
})

const PreviewedMessage = nullable(strict({ id: Id, at: Time, key: nullable(Type.String()) }))

export const ResetPreview = strict({
  from: Type.Integer({ minimum: 0, description: 'Id up to which the group has claimed.' }),
  to: Type.Integer({ minimum: 0, description: 'Id after which it would continue.' }),
  direction: Type.Enum(['back', 'forward', 'none']),
  messages: Type.Integer({
    minimum: 0,
    description: 'Messages between the two positions: back, they are delivered again; forward, never.',
  }),
  atMost: Type.Boolean({ description: 'Whether the numbers are upper limits.' }),
  waiting: Type.Integer({ minimum: 0, description: 'Messages that would be waiting for the group.' }),
  first: PreviewedMessage,
  last: PreviewedMessage,
  inFlight: Count,
  retries: Count,
})

export const GroupHealth = share(
  'GroupHealth',
  strict({
    topic: Type.String(),
    group: Type.String({ description: 'Name of the group; empty for a queue.' }),
    status: Type.Enum(['ACTIVE', 'PAUSED', 'DEAD', 'CANCELLED']),
    healthy: Type.Boolean(),
    nearTimeout: Type.Boolean(),
    epoch: Type.Integer(),
    createdAt: Time,
    lastHeartbeatAt: Time,
    sinceHeartbeatMs: Type.Number(),
    heartbeatTimeoutMs: Type.Number(),
    misses: Count,
    cursor: Type.Integer({ minimum: 0, description: 'Id up to which the group has claimed.' }),
    watermark: Type.Integer({ minimum: 0, description: 'Id up to which the group has settled everything.' }),
    lagMessages: Type.Integer({
      minimum: 0,
      description: 'Messages not yet delivered, including those of a running backfill.',
    }),
    lagMs: Type.Number(),
    inFlight: Count,
    retries: Count,
    deadLetters: Count,
    processed: Count,
    failed: Count,
    filtered: Count,
    ratePerSecond: Type.Number(),
    consumers: Count,
    handler: Percentiles,
    claimConflicts: strict({
      lastMinute: Type.Number(),
      ratio: Type.Number({ description: 'Share of the claims of the last minute, 0 to 1.' }),
    }),
    movedAt: Time,
    lost: Count,
    lostAt: nullable(Time),
    unacknowledgedLoss: Count,
    backfill: nullable(BackfillProgress),
    lastClaimAt: nullable(Time),
    failingSince: nullable(Time),
    lastError: nullable(Failure),
  }),
)

const Status = Type.Enum(['ACTIVE', 'PAUSED', 'DEAD', 'CANCELLED'])
const Epoch = Type.Integer({ description: 'Number of the activation.' })

export const GroupChange = share(
  'GroupChange',
  Type.Union(
    [
      strict({ at: Time, kind: Type.Literal('seen'), to: Status, epoch: Epoch }),
      strict({ at: Time, kind: Type.Literal('status'), from: Status, to: Status, epoch: Epoch }),
      strict({ at: Time, kind: Type.Literal('missed'), misses: Count }),
      strict({ at: Time, kind: Type.Literal('lost'), messages: Count }),
    ],
    { description: 'seen: the first time this server saw the group. missed: heartbeats missed in a row.' },
  ),
)
