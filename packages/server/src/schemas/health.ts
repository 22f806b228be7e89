import { Type } from 'typebox'
import { Count, nullable, strict, Time } from './common.ts'
import { GroupHealth } from './groups.ts'

export const HealthSchema = strict({
  healthy: Type.Boolean({ description: 'Nothing below needs anybody.' }),
  checkedAt: Time,
  nearTimeout: Type.Array(GroupHealth),
  dead: Type.Array(GroupHealth),
  stuck: Type.Array(strict({ topic: Type.String(), since: Time, ageMs: Type.Number() })),
  inconsistencies: Type.Array(strict({ topic: Type.String(), what: Type.String() })),
  cleanUp: strict({
    behind: Type.Boolean(),
    lastRunAt: nullable(Time),
    overdue: Type.Boolean(),
    removable: Type.Array(strict({ topic: Type.String(), messages: Count })),
  }),
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
    }),
  ),
})

export const ServerHealthSchema = strict({
  healthy: Type.Boolean(),
  uptimeMs: Type.Number(),
  topics: nullable(strict({ healthy: Type.Boolean({ description: 'The database answers.' }) })),
  pipeline: nullable(strict({ healthy: Type.Boolean({ description: 'No service has failed.' }) })),
})
