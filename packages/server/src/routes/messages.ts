import type { ByteOptions, StoredMessage } from 'tidemark'
import { Type } from 'typebox'
import { bytesToRead } from '../answers/bytes-to-read.ts'
import { sendJson, sendList } from '../answers/json-list.ts'
import type { Context } from '../context.ts'
import { NotFoundError } from '../errors.ts'
import { given, mapped, requireOrder, timeOf } from '../inputs.ts'
import { type Shown, toBatchMessage, toShortText, toText } from '../message-json.ts'
import { API, type Route, route } from '../route.ts'
import { Id, PageLimit, strict, Text, TimeGiven } from '../schemas/common.ts'
import {
  MessageGiven,
  MessageParams,
  MessagesGiven,
  MessagesPage,
  MessageWithStates,
  MOST_STATES,
  Published,
  ShownQuery,
} from '../schemas/messages.ts'
import { TopicParams } from '../schemas/topics.ts'
import { openStream } from '../streams/open-stream.ts'
import { tailTopic } from '../streams/tail-topic.ts'
import { untilGone } from '../until-gone.ts'

const tag = 'messages'
const MESSAGES = `${API}/topics/:topic/messages`

export const messageRoutes = (context: Context): Route[] => [
  route({
    method: 'POST',
    path: MESSAGES,
    tag,
    name: 'publish',
    role: 'publish',
    summary: 'Publish a message; it is stored when the request succeeds',
    params: TopicParams,
    body: MessageGiven,
    exactNumbers: true,
    answers: { 201: { says: 'The stored message', content: Published } },
    problems: [409, 507],
    async handle({ params: { topic }, body, reply }) {
      const [published] = await context.topics.publishMessages(topic, [toBatchMessage(body)])
      return reply.code(201).send(published)
    },
  }),

  route({
    method: 'POST',
    path: `${MESSAGES}/batch`,
    tag,
    name: 'publishBatch',
    role: 'publish',
    summary: 'Publish messages in one transaction',
    params: TopicParams,
    body: MessagesGiven,
    exactNumbers: true,
    answers: {
      201: { says: 'The stored messages', content: strict({ published: Type.Array(Published, { maxItems: 10_000 }) }) },
    },
    problems: [409, 507],
    async handle({ params: { topic }, body: { messages }, reply }) {
      const published = await context.topics.publishMessages(topic, messages.map(toBatchMessage))
      return reply.code(201).send({ published })
    },
  }),

  route({
    method: 'GET',
    path: MESSAGES,
    tag,
    name: 'browse',
    large: true,
    role: 'read',
    summary: 'Browse retained messages by position, time, key and type, without consuming them',
    says:
      'A page may be short or empty and still have a next page: one request examines at most 100 000 messages and returns ' +
      'at most 16 MiB (limits.answerBytes).',
    params: TopicParams,
    query: strict({
      after: Type.Optional(Type.String({ minLength: 1, maxLength: 1_024, description: 'Message id or messageId.' })),
      before: Type.Optional(Type.String({ minLength: 1, maxLength: 1_024, description: 'Message id or messageId.' })),
      since: Type.Optional(TimeGiven),
      until: Type.Optional(TimeGiven),
      key: Type.Optional(Text),
      type: Type.Optional(Text),
      order: Type.Optional(Type.Enum(['oldest-first', 'newest-first'])),
      limit: Type.Optional(PageLimit),
      ...ShownQuery,
    }),
    answers: { 200: { says: 'A page', content: MessagesPage } },
    async handle({ params: { topic }, query: all, request, reply }) {
      const { after, before, since, until, payloadBytes, decode, ...query } = all

      requireOrder({ since: mapped(since, timeOf), until: mapped(until, timeOf) })
      requireOrder({ after: numberOf(after), before: numberOf(before) })
      const { answerBytes } = context.settings.limits
      const shown = given({ payloadBytes, decode })
      // Whoever searches and goes away must not keep the database busy.
      using gone = untilGone(request, context.closing.signal)
      const page = await context.topics.admin.browse(topic, {
        ...query,
        signal: gone.signal,
        ...bytesOf(answerBytes, shown),
        ...given({
          after: mapped(after, idOf),
          before: mapped(before, idOf),
          since: mapped(since, timeOf),
          until: mapped(until, timeOf),
        }),
      })
      return await sendList(
        reply,
        {
          name: 'messages',
          items: page.messages,
          toText: textOf(shown),
          cursorOf: ({ id }) => id,
          next: page.next,
          more: {
            searched: page.examined && {
              ...page.examined,
              ...(await keptOf(context, topic, page.examined.last - page.examined.first + 1)),
            },
          },
        },
        answerBytes,
      )
    },
  }),

  route({
    method: 'GET',
    path: `${MESSAGES}/:id`,
    tag,
    name: 'message',
    large: true,
    role: 'read',
    summary: 'Get a retained message, and where it stands in each group',
    params: MessageParams,
    query: strict(ShownQuery),
    answers: { 200: { says: 'The message', content: MessageWithStates } },
    async handle({ params: { topic, id }, query, reply }) {
      const { answerBytes } = context.settings.limits
      const { maxPayloadBytes } = bytesOf(answerBytes, query)
      const found = await context.topics.admin.message(topic, id, { maxPayloadBytes })
      if (found === undefined) throw new NotFoundError(`Topic '${topic}' has no message ${id}, or it was cleaned up`)
      const text = textOf({ ...query, decode: query.decode ?? false })(found.message).slice(0, -1)
      const groups = JSON.stringify(found.groups.slice(0, MOST_STATES))
      return sendJson(reply, Buffer.from(`${text},"groups":${groups}}`))
    },
  }),

  route({
    method: 'GET',
    path: `${MESSAGES}/tail`,
    tag,
    name: 'tail',
    role: 'read',
    summary: 'Stream new messages as server-sent events, without consuming them',
    says:
      'Each event is a message as in a page of messages, with its id as the event id. With Last-Event-ID, messages published ' +
      'since then come first. A reader that is too slow is disconnected.',
    params: TopicParams,
    query: strict({ after: Type.Optional(Id) }),
    answers: { 200: { says: 'Endless stream of events', content: { 'text/event-stream': Type.String() } } },
    raw: true,
    async handle({ params: { topic }, query, request, reply }) {
      const after = lastEventId(request.headers['last-event-id']) ?? query.after
      const tail = await tailTopic(context.topics, topic, after, context.settings.limits)
      await openStream(context, request, reply, async stream => {
        for await (const message of tail.messages(stream.signal)) {
          await stream.send({ id: message.id, event: 'message', text: toText(message) })
        }
      })
    },
  }),
]

/** Of a payload that is cut, no more than this is read: a database does not read the beginning of a large value alone. */
const MOST_CUT = 1_048_576

function bytesOf(answerBytes: number, { payloadBytes }: Shown): Required<ByteOptions> {
  const bytes = bytesToRead(answerBytes)
  return payloadBytes === undefined
    ? bytes
    : { ...bytes, maxPayloadBytes: Math.min(bytes.maxPayloadBytes, Math.max(payloadBytes, MOST_CUT)) }
}

const textOf = (shown: Shown): ((message: StoredMessage) => string) =>
  shown.payloadBytes === undefined && shown.decode === undefined ? toText : message => toShortText(message, shown)

/** From the last look at all topics, which costs nothing more. */
async function keptOf({ live }: Context, name: string, atLeast: number): Promise<{ kept: number; since: Date | null }> {
  const { topics } = await live.read()
  const found = topics.find(({ topic }) => topic === name)
  // The look may be a little older than what was examined.
  return { kept: Math.max(found?.kept ?? 0, atLeast), since: found?.oldestAt ?? null }
}

/** The number of an id; messageIds have no order that a client could know. */
function numberOf(text: string | undefined): number | undefined {
  const id = mapped(text, idOf)
  return typeof id === 'number' ? id : undefined
}

const idOf = (text: string): number | string => (/^\d{1,15}$/.test(text) ? Number(text) : text)

function lastEventId(header: string | string[] | undefined): number | undefined {
  return typeof header === 'string' && /^\d{1,15}$/.test(header) ? Number(header) : undefined
}
