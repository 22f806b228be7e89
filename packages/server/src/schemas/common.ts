import { type TProperties, type TSchema, Type } from 'typebox'

/** An object without additional properties. */
export const strict = <P extends TProperties>(properties: P, about: { description?: string } = {}) =>
  Type.Object(properties, { ...about, additionalProperties: false })

export const nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()])

const NAME = '^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$'

const Name = (description: string) => Type.String({ pattern: NAME, description })
export const TopicName = Name('A topic.')
export const GroupName = Name('Group name. A queue has a single group, so any name works.')
export const ConsumerName = Name('Label of the consumer, shown to operators.')

export const Count = Type.Integer({ minimum: 0 })
export const Id = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
export const Time = Type.String({ format: 'date-time' })

/** As an input: its pattern is checked here, and the date where it is used. */
export const TimeGiven = Type.String({
  pattern: '^\\d{4}-\\d\\d-\\d\\d(T\\d\\d:\\d\\d(:\\d\\d(\\.\\d{1,9})?)?(Z|[+-]\\d\\d:\\d\\d))?$',
  description: 'ISO 8601, with a time zone.',
  examples: ['2026-05-01T12:00:00Z'],
})

export const DurationGiven = Type.Union(
  [
    Type.String({ pattern: '^\\d{1,12}(\\.\\d{1,6})?(ms|s|m|h|d)$' }),
    Type.Number({ minimum: 0, maximum: 3_153_600_000_000 }),
  ],
  { description: "'500ms', '30s', '5m', '24h', '7d', or milliseconds.", examples: ['30s'] },
)

export const From = Type.Union(
  [
    Type.Enum(['now', 'beginning']),
    strict({ timestamp: TimeGiven }),
    strict({ messageId: Type.String({ minLength: 1, maxLength: 1024 }) }),
  ],
  { description: 'Position at which a new group starts, or to which a group is moved.', examples: ['beginning'] },
)

export const PageLimit = Type.Integer({ minimum: 1, maximum: 1_000, default: 100 })
/** Keys, types and messageIds: any text that can be stored. */
export const Text = Type.String({ minLength: 1, maxLength: 1_024 })
export const Empty = strict({})
