import { Type } from 'typebox'
import { REASON_KINDS } from '../health/reasons.ts'
import { Count, nullable, strict, Time } from './common.ts'
import { Failure, GroupHealth } from './groups.ts'

const FailingGroup = strict({
  topic: Type.String(),
  group: Type.String(),
  lastClaimAt: nullable(Time),
  failingSince: nullable(Time),
  lastError: nullable(Failure),
})

const Reasons = Type.Array(
  strict({
    kind: Type.Enum([...REASON_KINDS]),
    message: Type.String(),
    blocking: Type.Boolean({
      description:
        'Whether the problem keeps this server from working. Other problems need an operator, not a restart.',
    }),
  }),
)

export const LiveSchema = strict({ alive: Type.Literal(true), uptimeMs: Type.Number() })

export const ReadySchema = strict({
  ready: Type.Boolean({ description: 'Whether no reason is blocking.' }),
  uptimeMs: Type.Number(),
  reasons: Reasons,
})

export const HealthSchema = strict({
  healthy: Type.Boolean({ description: 'Whether there are no problems.' }),
  reasons: Reasons,
  checkedAt: Time,
  nearTimeout: Type.Array(GroupHealth),
  dead: Type.Array(GroupHealth),
  lost: Type.Array(GroupHealth, { description: 'Groups with lost messages that nobody has acknowledged.' }),
  stuck: Type.Array(strict({ topic: Type.String(), since: Time, ageMs: Type.Number() })),
  inconsistencies: Type.Array(strict({ topic: Type.String(), what: Type.String() })),
  cleanUp: strict({
    behind: Type.Boolean(),
    lastRunAt: nullable(Time),
    overdue: Type.Boolean(),
    removable: Type.Array(strict({ topic: Type.String(), messages: Count })),
  }),
  clock: nullable(strict({ ok: Type.Boolean(), offsetMs: Type.Number() })),
  horizonHolders: Type.Array(
    strict({
      pid: Type.Integer(),
      ageMs: Type.Number(),
      state: Type.String(),
      application: Type.String(),
      query: Type.String(),
    }),
  ),
  zombies: Type.Array(strict({ topic: Type.String(), group: Type.String(), movedAt: Time, waiting: Count })),
  unsubscribed: Type.Array(strict({ topic: Type.String(), messages: Count, oldestAt: Time })),
  jobs: Type.Array(
    strict({
      name: Type.String(),
      running: Type.Boolean(),
      startedAt: nullable(Time),
      finishedAt: nullable(Time),
      runs: Count,
      result: Type.Unknown(),
      succeededAt: nullable(Time),
      tookMs: nullable(Type.Number()),
    }),
  ),
  database: strict({
    reachable: Type.Boolean({ description: 'Whether the database answers. If false, the lists above are unknown.' }),
    unreachableSince: nullable(Time),
    error: nullable(Failure),
  }),
  failing: Type.Array(FailingGroup, { description: 'Groups of this process that are unable to claim messages.' }),
})

export const ServerHealthSchema = strict({
  healthy: Type.Boolean(),
  uptimeMs: Type.Number(),
  topics: nullable(
    strict({
      healthy: Type.Boolean({ description: 'The database answers, and the groups of this process can claim.' }),
      unreachableSince: nullable(Time),
      failing: Type.Array(FailingGroup),
    }),
  ),
  pipeline: nullable(strict({ healthy: Type.Boolean({ description: 'Every service and resource is healthy.' }) })),
})
