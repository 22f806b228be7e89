import { Type } from 'typebox'
import { MOST_ATTENTION } from '../live/attention.ts'
import { MOST_TOPICS } from '../live/overview.ts'
import { Count, nullable, strict, Time } from './common.ts'
import { BackfillProgress, GroupPosition } from './groups.ts'
import { RunFactsSchema } from './runs.ts'
import { Grants } from './session.ts'
import { share } from './shared.ts'
import { TopicConfig } from './topics.ts'

const Rate = Type.Number({ minimum: 0 })

const GroupLive = share(
  'GroupLive',
  strict({
    ...GroupPosition,
    retries: Count,
    deadLetters: Count,
    consumedPerSecond: Rate,
    sinceHeartbeatMs: Type.Number(),
    members: Count,
    backfill: nullable(BackfillProgress),
  }),
)

const GroupTotals = share(
  'GroupTotals',
  strict(
    {
      groups: Count,
      lagMessages: Count,
      deadLetters: Count,
      late: Type.Integer({ minimum: 0, description: 'Active groups that are not healthy.' }),
      paused: Count,
      dead: Count,
      cancelled: Count,
    },
    { description: 'Of all groups of the topic, also those that are left out.' },
  ),
)

const TopicLive = share(
  'TopicLive',
  strict({
    topic: Type.String(),
    config: TopicConfig,
    first: nullable(Type.Integer({ description: 'Id of the oldest retained message.' })),
    last: nullable(Type.Integer({ description: 'Id of the newest message.' })),
    kept: Type.Integer({ minimum: 0, description: 'Number of retained messages; on PostgreSQL an estimate by ids.' }),
    bytes: Type.Integer({ minimum: 0, description: 'Size on disk; on SQLite estimated from a few messages.' }),
    oldestAt: nullable(Time),
    publishedPerSecond: Rate,
    groups: Type.Array(GroupLive, {
      maxItems: 100_000,
      description:
        'Groups that need attention first, as many as there is room for; all of a topic asked for in detail.',
    }),
    totals: GroupTotals,
  }),
)

const Attention = share(
  'Attention',
  strict({
    severity: Type.Enum(['bad', 'warning']),
    kind: Type.String(),
    topic: Type.Optional(Type.String()),
    group: Type.Optional(Type.String()),
    service: Type.Optional(Type.String()),
    runId: Type.Optional(Type.String()),
    since: nullable(Time),
    count: Type.Optional(Count),
    text: Type.String(),
  }),
)

export const GraphSchema = share(
  'PipelineGraph',
  strict({
    nodes: Type.Array(
      strict({
        id: Type.String(),
        kind: Type.Enum(['service', 'topic', 'queue', 'storage', 'index']),
        name: Type.String(),
        state: nullable(Type.String({ description: 'State of a service.' })),
        healthy: Type.Boolean(),
      }),
      { maxItems: 1_000 },
    ),
    edges: Type.Array(
      strict({
        from: Type.String(),
        to: Type.String(),
        binding: Type.String(),
        group: nullable(Type.String({ description: 'Consumer group of a binding that reads a topic.' })),
        passed: nullable(Count),
        capacity: nullable(
          Type.Integer({ description: 'Maximum number of items in a queue; null if only its bytes are limited.' }),
        ),
        fill: nullable(Type.Number({ description: 'Fill level of a queue, 0 to 1, by items or bytes.' })),
        perSecond: nullable(Rate),
        backlog: Type.Integer({ minimum: 0, description: 'Items in the queue, or messages waiting for the group.' }),
      }),
      { maxItems: 10_000 },
    ),
  }),
)

export const OverviewSchema = share(
  'Overview',
  strict({
    at: Time,
    topics: Type.Array(TopicLive, { maxItems: MOST_TOPICS }),
    omitted: Type.Integer({ minimum: 0, description: 'Number of topics that are left out.' }),
    attention: Type.Array(Attention, { maxItems: MOST_ATTENTION }),
    pipeline: nullable(GraphSchema),
    newestRun: nullable(RunFactsSchema),
  }),
)

export const LiveRowsSchema = share(
  'LiveRows',
  strict(
    {
      at: Time,
      topics: Type.Record(Type.String(), Type.Array(nullable(Type.Number()), { maxItems: 5 }), {
        description: 'Changed topics: [last, publishedPerSecond, kept, lagMessages, deadLetters].',
      }),
      groups: Type.Record(Type.String(), Type.Array(nullable(Type.Number()), { maxItems: 8 }), {
        description:
          "Changed groups by 'topic/group': [cursor, lagMessages, lagMs, inFlight, retries, deadLetters, consumedPerSecond, sinceHeartbeatMs].",
      }),
      edges: Type.Array(Type.Array(nullable(Type.Number()), { maxItems: 3 }), {
        maxItems: 10_000,
        description: 'Edges of the pipeline in the order of the snapshot: [perSecond, backlog, fill].',
      }),
      attention: Type.Optional(
        Type.Array(Attention, { maxItems: MOST_ATTENTION, description: 'All of it, if it has changed.' }),
      ),
    },
    { description: 'Figures that have changed since the last event of this kind.' },
  ),
)

const Column = Type.Optional(Type.Array(nullable(Type.Number()), { maxItems: 1_440 }))

export const HistorySchema = strict({
  step: Type.String(),
  end: Time,
  since: Time,
  series: Type.Record(Type.String(), strict({ published: Column, consumed: Column, lag: Column })),
})

const DiskBytes = nullable(Type.Number({ minimum: 0 }))

export const ServerFactsSchema = strict({
  version: Type.String(),
  engine: nullable(Type.String({ description: 'Engine of the topics, such as sqlite; null: it serves no topics.' })),
  namespace: nullable(Type.String({ description: 'Namespace of the topics.' })),
  startedAt: Time,
  now: Time,
  name: Type.String({ description: 'Name of the caller.' }),
  roles: Grants,
  serves: strict({
    topics: Type.Boolean(),
    pipeline: Type.Boolean(),
    runs: Type.Boolean(),
    ingest: Type.Boolean(),
  }),
  disk: strict(
    { database: DiskBytes, storage: DiskBytes },
    {
      description:
        'Bytes of the topics, and of the batch files; null: not served, or the token is limited to some topics.',
    },
  ),
})
