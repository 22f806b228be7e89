import { Type } from 'typebox'
import { Count, Id, nullable, strict, Text, Time, TopicName } from './common.ts'
import { share } from './shared.ts'

/** Groups of one message in an answer. */
export const MOST_STATES = 1_000

const Headers = Type.Record(Type.String(), Type.String(), { maxProperties: 1_000 })

const PayloadGiven = {
  payload: Type.Optional(Type.Unknown({ description: 'Any JSON value.' })),
  payloadBase64: Type.Optional(
    Type.String({ pattern: '^[A-Za-z0-9+/]*={0,2}$', description: 'Payload as base64, instead of `payload`.' }),
  ),
  type: Type.Optional(
    Type.String({ minLength: 1, maxLength: 1_024, description: 'Protobuf type URL of a binary payload.' }),
  ),
}

export const MessageGiven = strict({
  ...PayloadGiven,
  key: Type.Optional(Text),
  headers: Type.Optional(Headers),
  messageId: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 1_024,
      description: 'Deduplication id. A second message with the same id is not stored.',
    }),
  ),
})

export const MessagesGiven = strict({ messages: Type.Array(MessageGiven, { minItems: 1, maxItems: 10_000 }) })

export const Published = share(
  'Published',
  strict({
    topic: Type.String(),
    id: Id,
    messageId: Type.String(),
    duplicate: Type.Boolean({ description: 'Whether a message with this id was already stored.' }),
  }),
)

const StoredFields = {
  topic: Type.String(),
  id: Id,
  messageId: Type.String(),
  key: nullable(Type.String()),
  type: Type.String({ description: "'json', 'bytes', or a protobuf type URL." }),
  headers: Type.Record(Type.String(), Type.String()),
  createdAt: Time,
  payload: Type.Optional(Type.Unknown({ description: 'Payload of type json.' })),
  payloadBase64: Type.Optional(Type.String({ description: 'Payload of any other type, as base64.' })),
  omittedBytes: Type.Optional(
    Type.Integer({
      minimum: 1,
      description:
        'Size of a message that exceeds the response limit. Its payload and headers are omitted; consume the message to get them.',
    }),
  ),
}

/** With `payloadBytes` or `decode`. */
const ShownFields = {
  ...StoredFields,
  payloadSize: Type.Optional(Type.Integer({ minimum: 0, description: 'Bytes of the whole payload.' })),
  payloadTruncated: Type.Optional(
    Type.Boolean({
      description: 'Whether only the beginning of the payload was sent, as base64 even if it is JSON.',
    }),
  ),
  decoded: Type.Optional(
    strict(
      { type: Type.String({ description: 'Full name of the type.' }), value: Type.Unknown() },
      { description: 'Protobuf message of the pipeline as JSON; what is inside an envelope, without it.' },
    ),
  ),
}

const StoredMessage = share('StoredMessage', strict(ShownFields))

export const ShownQuery = {
  payloadBytes: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 1_048_576,
      description: 'Maximum bytes of a payload. Longer ones are cut; those above 1 MiB are omitted.',
    }),
  ),
  decode: Type.Optional(Type.Boolean({ description: 'Whether protobuf messages of the pipeline are decoded.' })),
}

export const MessageParams = strict({ topic: TopicName, id: Id })

export const MessageWithStates = strict({
  ...ShownFields,
  groups: Type.Array(
    strict({
      group: Type.String({ description: 'Name of the group; empty for a queue.' }),
      status: Type.Enum(['ACTIVE', 'PAUSED', 'DEAD', 'CANCELLED']),
      state: Type.Enum(['done', 'in-flight', 'retry', 'dead-letter', 'waiting', 'not-for-group', 'settled'], {
        description: 'settled: done or dead-lettered; the group has too many dead letters to look through.',
      }),
      consumer: nullable(Type.String({ description: 'Consumer that holds the message.' })),
      until: nullable(Type.String({ format: 'date-time', description: 'Expiry of the claim, or time of redelivery.' })),
      attempt: nullable(Type.Integer({ minimum: 1 })),
      deadLetter: nullable(Id),
    }),
    { maxItems: MOST_STATES, description: 'Where the message stands in each group.' },
  ),
})

export const MessagesPage = strict({
  messages: Type.Array(StoredMessage),
  searched: nullable(
    strict(
      {
        first: Type.Integer({ minimum: 0, description: 'Lowest id that was examined.' }),
        last: Type.Integer({ minimum: 0, description: 'Highest id that was examined.' }),
        kept: Type.Integer({ minimum: 0, description: 'Number of retained messages.' }),
        since: nullable(Type.String({ format: 'date-time', description: 'Time of the oldest retained message.' })),
      },
      { description: 'What was examined; null if there was nothing.' },
    ),
  ),
  next: nullable(
    Type.Integer({ description: "Value of 'after' (or 'before') for the next page; null on the last page." }),
  ),
})

export const PulledMessage = strict({
  ...StoredFields,
  attempt: Type.Integer({ minimum: 1 }),
  version: Type.Integer({ minimum: 1, description: 'Fencing token; grows with every claim.' }),
})

export const ClaimParams = strict({
  topic: TopicName,
  claim: Type.String({
    pattern: '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$',
    description: 'Claim id.',
  }),
})

export const Claim = share(
  'Claim',
  strict({
    id: Type.String({ description: 'Claim id, for releasing it.' }),
    topic: Type.String(),
    group: Type.String({ description: 'Name of the group; empty for a queue.' }),
    consumer: Type.String(),
    claimedAt: Time,
    expiresAt: nullable(Time),
    size: Count,
    unsettled: Count,
    firstId: nullable(Id),
    lastId: nullable(Id),
    messages: Type.Array(
      strict({
        id: Id,
        messageId: Type.String(),
        attempt: Type.Integer({ minimum: 1 }),
        version: Type.Integer({ minimum: 1, description: 'Fencing token of the claim.' }),
      }),
      { description: 'First unsettled messages of the claim.' },
    ),
  }),
)

const Failure = { name: Type.String(), message: Type.String() }

/** Maximum number of attempts shown per message, the newest: with thousands of attempts, most failed alike. */
export const MOST_FAILURES = 100
const History = Type.Array(strict({ ...Failure, attempt: Count, at: Time }), {
  maxItems: MOST_FAILURES,
  description: 'Newest failed attempts, oldest first.',
})

export const DeadLetter = share(
  'DeadLetter',
  strict({
    ...StoredFields,
    logId: Type.Integer({ minimum: 1, description: 'Id of the message in the log; `id` is that of the dead letter.' }),
    group: Type.String(),
    attempts: Count,
    error: strict(Failure),
    history: History,
    deadAt: Time,
  }),
)

export const Fingerprint = Type.String({
  pattern: '^[0-9a-f]{16}$',
  description: 'Identifies a kind of error, as GET /dead-letters/errors lists them.',
})

/** Kinds of errors in one answer. */
export const MOST_ERRORS = 1_000

export const DeadLetterError = share(
  'DeadLetterError',
  strict({
    topic: Type.String(),
    group: Type.String({ description: 'Name of the group; empty for a queue.' }),
    fingerprint: Type.String(),
    error: Type.String({ description: 'Name and message, with numbers, ids and quoted text replaced by <…>.' }),
    count: Count,
    firstAt: Time,
    lastAt: Time,
    sample: strict(
      { id: Id, key: nullable(Type.String()), name: Type.String(), message: Type.String() },
      { description: 'The last of these dead letters.' },
    ),
    perMinute: Type.Array(Count, {
      maxItems: 60,
      description: 'Number in each of the last 60 minutes, the present one last.',
    }),
  }),
)

export const WaitingRetry = share(
  'WaitingRetry',
  strict({
    id: Id,
    messageId: Type.String(),
    key: nullable(Type.String()),
    type: Type.String(),
    createdAt: nullable(Time),
    attempts: Count,
    dueAt: Time,
    error: nullable(strict(Failure)),
    history: History,
    suspect: Type.Boolean({
      description: 'Whether its last lease expired, which suggests that it crashed its consumer.',
    }),
  }),
)

export const Completion = strict({
  id: Id,
  messageId: Type.String(),
  required: Type.Array(Type.String()),
  completed: Type.Array(Type.String()),
})

export const LetterParams = strict({ topic: TopicName, id: Id })
