import { type TSchema, Type } from 'typebox'
import { MOST_REASONS, REASON_KINDS } from '../health/reasons.ts'
import { Count, nullable, strict, Time } from './common.ts'
import { Failure, GroupHealth } from './groups.ts'

/** Maximum length of each list: thousands of groups and topics may need attention. */
export const MOST_LISTED = 100
const listed = <T extends TSchema>(schema: T, about: { description?: string } = {}) =>
  Type.Array(schema, { ...about, maxItems: MOST_LISTED })

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
  { maxItems: MOST_REASONS, description: 'Blocking ones first.' },
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
  omitted: Type.Integer({ minimum: 0, description: `Entries left out: each list has ${MOST_LISTED} at most.` }),
  nearTimeout: listed(GroupHealth),
  dead: listed(GroupHealth),
  lost: listed(GroupHealth, { description: 'Groups with lost messages that nobody has acknowledged.' }),
  stuck: listed(strict({ topic: Type.String(), since: Time, ageMs: Type.Number() })),
  inconsistencies: listed(strict({ topic: Type.String(), what: Type.String() })),
  cleanUp: strict({
    behind: Type.Boolean(),
    lastRunAt: nullable(Time),
    overdue: Type.Boolean(),
    removable: listed(strict({ topic: Type.String(), messages: Count })),
  }),
  clock: nullable(strict({ ok: Type.Boolean(), offsetMs: Type.Number() })),
  partitions: listed(strict({ topic: Type.String(), room: Count })),
  horizonHolders: listed(
    strict({
      pid: Type.Integer(),
      ageMs: Type.Number(),
      state: Type.String(),
      application: Type.String(),
      query: Type.String(),
    }),
  ),
  zombies: listed(strict({ topic: Type.String(), group: Type.String(), movedAt: Time, waiting: Count })),
  unsubscribed: listed(strict({ topic: Type.String(), messages: Count, oldestAt: Time })),
  jobs: listed(
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
  failing: listed(FailingGroup, { description: 'Groups of this process that are unable to claim messages.' }),
})

export const ServerHealthSchema = strict({
  healthy: Type.Boolean(),
  uptimeMs: Type.Number(),
  topics: nullable(
    strict({
      healthy: Type.Boolean({ description: 'The database answers, and the groups of this process can claim.' }),
      unreachableSince: nullable(Time),
      failing: listed(FailingGroup),
    }),
  ),
  pipeline: nullable(strict({ healthy: Type.Boolean({ description: 'Every service and resource is healthy.' }) })),
})
