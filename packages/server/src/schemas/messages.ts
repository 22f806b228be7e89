import { Type } from 'typebox'
import { Count, Id, nullable, strict, Text, Time, TopicName } from './common.ts'
import { share } from './shared.ts'

const Headers = Type.Record(Type.String(), Type.String(), { maxProperties: 1_000 })

const PayloadGiven = {
  payload: Type.Optional(Type.Unknown({ description: 'Any JSON value.' })),
  payloadBase64: Type.Optional(
    Type.String({ pattern: '^[A-Za-z0-9+/]*={0,2}$', description: 'Bytes in place of JSON.' }),
  ),
  type: Type.Optional(Type.String({ minLength: 1, maxLength: 1_024, description: 'With bytes: a protobuf type URL.' })),
}

export const MessageGiven = strict({
  ...PayloadGiven,
  key: Type.Optional(Text),
  headers: Type.Optional(Headers),
  messageId: Type.Optional(Type.String({ minLength: 1, maxLength: 1_024, description: 'Again is stored once.' })),
})

export const MessagesGiven = strict({ messages: Type.Array(MessageGiven, { minItems: 1, maxItems: 10_000 }) })

export const Published = share(
  'Published',
  strict({
    topic: Type.String(),
    id: Id,
    messageId: Type.String(),
    duplicate: Type.Boolean({ description: 'It was stored before; nothing was added.' }),
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
  payload: Type.Optional(Type.Unknown({ description: 'Of type json.' })),
  payloadBase64: Type.Optional(Type.String({ description: 'Of any other type.' })),
}

export const StoredMessage = share('StoredMessage', strict(StoredFields))

export const MessagesPage = strict({
  messages: Type.Array(StoredMessage),
  next: nullable(Type.Integer({ description: 'after (or before) of the next page; null: there is no more.' })),
})

export const PulledMessage = strict({
  ...StoredFields,
  attempt: Type.Integer({ minimum: 1 }),
  version: Type.Integer({ minimum: 1, description: 'Grows with every claim: the fencing token.' }),
})

export const ClaimParams = strict({
  topic: TopicName,
  claim: Type.String({
    pattern: '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$',
    description: 'The id of a claim.',
  }),
})

export const Claim = share(
  'Claim',
  strict({
    id: Type.String({ description: 'To release it with.' }),
    topic: Type.String(),
    group: Type.String({ description: 'Empty in a queue.' }),
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
        version: Type.Integer({ minimum: 1, description: 'The fencing token under which it is held.' }),
      }),
      { description: 'The first of those that are not settled.' },
    ),
  }),
)

const Failure = { name: Type.String(), message: Type.String() }

export const DeadLetter = share(
  'DeadLetter',
  strict({
    ...StoredFields,
    group: Type.String(),
    attempts: Count,
    error: strict(Failure),
    history: Type.Array(strict({ ...Failure, attempt: Count, at: Time })),
    deadAt: Time,
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
    history: Type.Array(strict({ ...Failure, attempt: Count, at: Time })),
    suspect: Type.Boolean({ description: 'Its last lease ran out: it may be what killed its process.' }),
  }),
)

export const Completion = strict({
  id: Id,
  messageId: Type.String(),
  required: Type.Array(Type.String()),
  completed: Type.Array(Type.String()),
})

export const LetterParams = strict({ topic: TopicName, id: Id })
