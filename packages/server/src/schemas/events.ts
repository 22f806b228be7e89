import { type TSchema, Type } from 'typebox'
import { MOST_NEW_POINTS } from '../runs/run-series.ts'
import { SUMMED } from '../streams/activity.ts'
import { Count, nullable, strict, Time } from './common.ts'
import { TopicDetailSchema } from './lanes.ts'
import { LiveRowsSchema, OverviewSchema } from './live.ts'
import { SeriesPointSchema } from './runs.ts'
import { share } from './shared.ts'

const Topic = Type.String()
const Group = Type.String({ description: 'Group name; empty for a queue.' })
const Sum = Type.Optional(Count)

const Activity = strict(
  {
    topics: Type.Record(Type.String(), strict(Object.fromEntries(SUMMED.map(name => [name, Sum])))),
  },
  {
    description:
      'Messages published, received and acknowledged by all processes since the last event of this kind, by topic.',
  },
)

const Change = Type.Union(
  [
    strict({ kind: Type.Enum(['topic-appeared', 'topic-gone']), topic: Topic }),
    strict({ kind: Type.Literal('group-appeared'), topic: Topic, group: Group, status: Type.String() }),
    strict({ kind: Type.Literal('group-gone'), topic: Topic, group: Group }),
    strict({
      kind: Type.Literal('group-status'),
      topic: Topic,
      group: Group,
      status: Type.String(),
      before: Type.String(),
    }),
    strict({ kind: Type.Literal('dead-letters'), topic: Topic, group: Group, deadLetters: Count, before: Count }),
  ],
  { description: 'A change of a topic or group, made by any process on this database.' },
)

const TopicEvent = Type.Object(
  {
    name: Type.String({ description: 'Name of the event as in the library, such as group-dead.' }),
    topic: Type.Optional(Topic),
  },
  { additionalProperties: true, description: 'An event of this process, with the fields of its kind.' },
)

const Failure = strict({ name: Type.String(), message: Type.String() })
const ServiceEvent = Type.Union([
  strict({ type: Type.Literal('state'), service: Type.String(), state: Type.String(), before: Type.String() }),
  strict({ type: Type.Literal('error'), service: Type.String(), action: Type.String(), error: Failure }),
  strict({ type: Type.Literal('recovered'), service: Type.String(), action: Type.String() }),
])

const PipelineEvent = strict({
  healthy: Type.Boolean(),
  services: Type.Array(
    strict({
      name: Type.String(),
      state: Type.String(),
      healthy: Type.Boolean(),
      waitingFor: nullable(Type.String()),
      metrics: Type.Record(Type.String(), Type.Number()),
    }),
  ),
})

const RunEvent = strict(
  { runId: Type.String(), live: Type.Boolean(), tick: Type.Integer(), alive: nullable(Count) },
  { description: 'Last indexed tick of the newest run, of every run that grows, and of those asked for in detail.' },
)

const SeriesEvent = strict(
  { runId: Type.String(), points: Type.Array(SeriesPointSchema, { maxItems: MOST_NEW_POINTS }) },
  { description: 'New points of a run that was asked for in detail (detail=run:<run>).' },
)

const Missed = strict(
  {
    reason: Type.Enum(['restarted', 'too-old']),
    from: Type.String({ description: 'The last id that was given.' }),
    to: Type.String({ description: 'Id of the last event that can no longer be sent. Those after it follow.' }),
  },
  { description: 'Events after the given id are no longer available: fetch again what depends on them.' },
)

const Hello = strict(
  {
    life: Type.String(),
    version: Type.String(),
    page: Type.Optional(
      nullable(Type.String({ description: 'Version of the page that the server has, if the reader gave its own.' })),
    ),
    at: Time,
  },
  { description: 'The first event of a stream: who sends it, and its time.' },
)

const event = (name: string, data: TSchema): TSchema =>
  strict({ id: Type.Optional(Type.String()), event: Type.Literal(name), data })

/** One event: its fields as in the stream, with `data` parsed. */
export const EventSchema = share(
  'ServerEvent',
  Type.Union([
    event('topic', share('TopicEvent', TopicEvent)),
    event('activity', share('ActivityEvent', Activity)),
    event('change', share('ChangeEvent', Change)),
    event('service', share('ServiceEvent', ServiceEvent)),
    event('pipeline', share('PipelineEvent', PipelineEvent)),
    event('run', share('RunEvent', RunEvent)),
    event('series', share('SeriesEvent', SeriesEvent)),
    event('hello', share('HelloEvent', Hello)),
    event('snapshot', OverviewSchema),
    event('live', LiveRowsSchema),
    event('lanes', TopicDetailSchema),
    event('missed', share('MissedEvent', Missed)),
  ]),
)
