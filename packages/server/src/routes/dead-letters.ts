import type { DeadLetterFilter, DeadLetterMessage } from 'tidemark'
import { type Static, Type } from 'typebox'
import { bytesToRead } from '../answers/bytes-to-read.ts'
import { sendJson, sendList } from '../answers/json-list.ts'
import type { Context } from '../context.ts'
import { NotFoundError } from '../errors.ts'
import { given, mapped, requireOrder, timeOf } from '../inputs.ts'
import { toText } from '../message-json.ts'
import { withPlainErrors } from '../problems/http-words.ts'
import { API, type Route, route } from '../route.ts'
import { Count, GroupName, Id, nullable, PageLimit, strict, Text, TimeGiven } from '../schemas/common.ts'
import { DeadLetter, LetterParams, MOST_FAILURES } from '../schemas/messages.ts'
import { TopicParams } from '../schemas/topics.ts'

const tag = 'dead letters'
const LETTERS = `${API}/topics/:topic/dead-letters`

const Filter = strict(
  {
    ids: Type.Optional(Type.Array(Id, { minItems: 1, maxItems: 10_000 })),
    group: Type.Optional(GroupName),
    errorName: Type.Optional(Text),
    key: Type.Optional(Text),
    type: Type.Optional(Text),
    since: Type.Optional(TimeGiven),
    until: Type.Optional(TimeGiven),
    all: Type.Optional(Type.Literal(true)),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
  },
  { description: 'Dead letters that match every given field. All of the topic require all: true.' },
)

export const deadLetterRoutes = (context: Context): Route[] => [
  route({
    method: 'GET',
    path: LETTERS,
    tag,
    name: 'listDeadLetters',
    large: true,
    role: 'read',
    summary: 'List dead letters, oldest first',
    params: TopicParams,
    query: strict({ group: Type.Optional(GroupName), after: Type.Optional(Id), limit: Type.Optional(PageLimit) }),
    answers: {
      200: {
        says: 'A page',
        content: strict({ deadLetters: Type.Array(DeadLetter), next: nullable(Type.Integer()) }),
      },
    },
    async handle({ params: { topic }, query, reply }) {
      const { answerBytes } = context.settings.limits
      const page = await context.topics.admin.deadLetterPage(topic, { ...query, ...bytesToRead(answerBytes) })
      const { deadLetters: items, next } = page
      return await sendList(
        reply,
        { name: 'deadLetters', items, toText: letterText, cursorOf: ({ id }) => id, next },
        answerBytes,
      )
    },
  }),

  route({
    method: 'GET',
    path: `${LETTERS}/:id`,
    tag,
    name: 'deadLetter',
    large: true,
    role: 'read',
    summary: 'Get a dead letter with its history',
    params: LetterParams,
    answers: { 200: { says: 'The dead letter', content: DeadLetter } },
    async handle({ params: { topic, id }, reply }) {
      const { maxPayloadBytes } = bytesToRead(context.settings.limits.answerBytes)
      const letter = await context.topics.admin.deadLetter(topic, id, { maxPayloadBytes })
      if (letter === undefined) throw new NotFoundError(`Topic '${topic}' has no dead letter ${id}`)
      return sendJson(reply, Buffer.from(letterText(letter)))
    },
  }),

  route({
    method: 'POST',
    path: `${LETTERS}/redrive`,
    tag,
    name: 'redrive',
    role: 'operate',
    summary: 'Redeliver dead letters with a full set of attempts',
    params: TopicParams,
    body: Filter,
    answers: {
      200: {
        says: 'Number of redriven dead letters, and of those whose message or group no longer exists',
        content: strict({ redriven: Count, gone: Count, orphaned: Count }),
      },
    },
    async handle({ params: { topic }, body }) {
      return await context.topics.admin.redrive(topic, filterOf(body))
    },
  }),

  route({
    method: 'POST',
    path: `${LETTERS}/discard`,
    tag,
    name: 'discard',
    role: 'operate',
    summary: 'Delete dead letters permanently',
    params: TopicParams,
    body: Filter,
    answers: { 200: { says: 'Number of deleted dead letters', content: strict({ discarded: Count }) } },
    async handle({ params: { topic }, body }) {
      return { discarded: await context.topics.admin.discard(topic, filterOf(body)) }
    },
  }),
]

const letterText = (letter: DeadLetterMessage): string => {
  const { error, history } = withPlainErrors({ error: letter.error, history: letter.history })
  return toText({
    ...letter,
    error,
    history: history.slice(-MOST_FAILURES).map(each => ({ ...each, at: new Date(each.at) })),
  })
}

function filterOf({ since, until, ...filter }: Static<typeof Filter>): DeadLetterFilter {
  requireOrder({ since: mapped(since, timeOf), until: mapped(until, timeOf) })
  return { ...filter, ...given({ since: mapped(since, timeOf), until: mapped(until, timeOf) }) }
}
