import type { DeadLetterMessage } from 'tidemark'
import { Type } from 'typebox'
import { bytesToRead } from '../answers/bytes-to-read.ts'
import { sendJson, sendList } from '../answers/json-list.ts'
import type { Context } from '../context.ts'
import { NotFoundError } from '../errors.ts'
import { given, mapped, requireOrder, timeOf } from '../inputs.ts'
import { toText } from '../message-json.ts'
import { withoutPaths, withPlainErrors } from '../problems/http-words.ts'
import { API, type Route, route } from '../route.ts'
import { Count, GroupName, Id, nullable, PageLimit, strict, Text, TimeGiven, TopicName } from '../schemas/common.ts'
import {
  DeadLetter,
  DeadLetterError,
  Fingerprint,
  LetterParams,
  MOST_ERRORS,
  MOST_FAILURES,
} from '../schemas/messages.ts'
import { TopicParams } from '../schemas/topics.ts'
import { sees } from '../security/identity.ts'
import { identityOf } from '../security/visit.ts'

const tag = 'dead letters'
const LETTERS = `${API}/topics/:topic/dead-letters`

const Filter = strict(
  {
    ids: Type.Optional(Type.Array(Id, { minItems: 1, maxItems: 10_000 })),
    group: Type.Optional(GroupName),
    errorName: Type.Optional(Text),
    fingerprint: Type.Optional(Fingerprint),
    key: Type.Optional(Text),
    type: Type.Optional(Text),
    since: Type.Optional(TimeGiven),
    until: Type.Optional(TimeGiven),
    all: Type.Optional(Type.Literal(true)),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
    dryRun: Type.Optional(Type.Boolean({ description: 'Only count what the request would do.' })),
  },
  { description: 'Dead letters that match every given field. All of the topic require all: true.' },
)

const Matched = {
  matching: Type.Integer({ minimum: 0, description: 'Number of dead letters that the filter matches.' }),
  gone: Type.Integer({ minimum: 0, description: 'Those whose message is no longer in the log.' }),
  orphaned: Type.Integer({ minimum: 0, description: 'Those whose group is not live.' }),
}

export const deadLetterRoutes = (context: Context): Route[] => [
  route({
    method: 'GET',
    path: `${API}/dead-letters/errors`,
    tag,
    name: 'listDeadLetterErrors',
    role: 'read',
    scope: 'some',
    summary: 'Group dead letters by kind of error, of all topics, one topic, or one of its groups',
    says:
      'Errors that differ only in numbers, ids and quoted text are one kind, which its fingerprint identifies. At most ' +
      '100 000 dead letters are examined, the newest first.',
    query: strict({ topic: Type.Optional(TopicName), group: Type.Optional(GroupName) }),
    answers: {
      200: {
        says: 'Kinds of errors, the latest first',
        content: strict({
          errors: Type.Array(DeadLetterError, { maxItems: MOST_ERRORS }),
          omitted: Type.Integer({ minimum: 0, description: 'Number of kinds that are left out.' }),
          examined: Count,
          complete: Type.Boolean({ description: 'Whether all dead letters were examined.' }),
        }),
      },
    },
    async handle({ query, request, reply }) {
      const { errors, ...rest } = await context.letterErrors.read(query)
      const identity = identityOf(request)
      const visible = errors.filter(({ topic }) => sees(identity, 'read', topic))
      const shown = visible.slice(0, MOST_ERRORS).map(({ sample, error, ...each }) => ({
        ...each,
        error: withoutPaths(error),
        sample: { ...sample, message: withoutPaths(sample.message) },
      }))
      const omitted = visible.length - shown.length
      return reply.header('cache-control', 'no-store').send({ errors: shown, omitted, ...rest })
    },
  }),

  route({
    method: 'GET',
    path: LETTERS,
    tag,
    name: 'listDeadLetters',
    large: true,
    role: 'read',
    summary: 'List dead letters, oldest first',
    params: TopicParams,
    query: strict({
      group: Type.Optional(GroupName),
      fingerprint: Type.Optional(Fingerprint),
      errorName: Type.Optional(Text),
      key: Type.Optional(Text),
      since: Type.Optional(TimeGiven),
      until: Type.Optional(TimeGiven),
      after: Type.Optional(Id),
      limit: Type.Optional(PageLimit),
    }),
    answers: {
      200: {
        says: 'A page',
        content: strict({ deadLetters: Type.Array(DeadLetter), next: nullable(Type.Integer()) }),
      },
    },
    async handle({ params: { topic }, query, reply }) {
      const { answerBytes } = context.settings.limits
      const options = { ...withTimes(query), ...bytesToRead(answerBytes) }
      const page = await context.topics.admin.deadLetterPage(topic, options)
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
        content: strict({ redriven: Count, ...Matched }),
      },
    },
    async handle({ params: { topic }, body: { dryRun, ...filter } }) {
      const { admin } = context.topics
      if (dryRun) return { redriven: 0, ...(await admin.previewDeadLetters(topic, withTimes(filter))) }
      const { redriven, gone, orphaned } = await admin.redrive(topic, withTimes(filter))
      return { redriven, matching: redriven + gone + orphaned, gone, orphaned }
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
    answers: {
      200: { says: 'Number of deleted dead letters', content: strict({ discarded: Count, ...Matched }) },
    },
    async handle({ params: { topic }, body: { dryRun, ...filter } }) {
      const { admin } = context.topics
      const found = await admin.previewDeadLetters(topic, withTimes(filter))
      return dryRun
        ? { discarded: 0, ...found }
        : { ...found, discarded: await admin.discard(topic, withTimes(filter)) }
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

/** Its times as dates, checked for their order. */
function withTimes<T extends { readonly since?: string; readonly until?: string }>({ since, until, ...filter }: T) {
  const times = { since: mapped(since, timeOf), until: mapped(until, timeOf) }
  requireOrder(times)
  return { ...filter, ...given(times) }
}
