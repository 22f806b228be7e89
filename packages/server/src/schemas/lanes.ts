import { Type } from 'typebox'
import { MOST_GROUPS } from '../live/overview.ts'
import { Count, Id, nullable, strict, Time } from './common.ts'
import { GroupPosition } from './groups.ts'
import { share } from './shared.ts'

const MOST_BUCKETS = 1_000
const MOST_MARKS = 100

export const LanesQuery = strict({
  from: Type.Optional(Id),
  to: Type.Optional(Id),
  buckets: Type.Optional(Type.Integer({ minimum: 0, maximum: MOST_BUCKETS, default: 200 })),
})

const GroupLane = share(
  'GroupLane',
  strict({
    ...GroupPosition,
    retryCount: Count,
    deadLetterCount: Count,
    leases: Type.Array(
      strict({
        from: Id,
        to: Id,
        consumer: Type.String(),
        until: nullable(Time),
        attempt: Type.Integer({ minimum: 1 }),
      }),
      { maxItems: MOST_MARKS, description: 'Claims, oldest first.' },
    ),
    retries: Type.Array(
      strict({ id: Id, due: Time, attempt: Type.Integer({ minimum: 1, description: 'Number of the next attempt.' }) }),
      { maxItems: MOST_MARKS, description: 'Messages that wait for redelivery, by id.' },
    ),
    deadLetters: Type.Array(Id, {
      maxItems: MOST_MARKS,
      description: 'Message ids of the newest dead letters.',
    }),
  }),
)

const Buckets = Type.Array(
  strict({
    position: Type.Integer({ minimum: 0, description: 'First id of the part.' }),
    at: nullable(Time),
    count: Type.Integer({ minimum: 0, description: 'Number of messages; on PostgreSQL computed from ids.' }),
  }),
  { maxItems: MOST_BUCKETS },
)

const LanesFields = {
  takenAt: Time,
  first: nullable(Id),
  last: nullable(Id),
  groups: Type.Array(GroupLane, { maxItems: MOST_GROUPS }),
}

export const LanesSchema = share('Lanes', strict({ ...LanesFields, buckets: Buckets }))

export const TopicDetailSchema = share(
  'TopicDetail',
  strict(
    {
      topic: Type.String(),
      ...LanesFields,
      buckets: nullable(Buckets),
      whole: Type.Boolean({ description: 'Whether all groups are listed, or those that have changed.' }),
    },
    { description: 'A topic that was asked for in detail (detail=topic:<topic>), up to four times a second.' },
  ),
)
