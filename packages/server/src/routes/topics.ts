import type { TopicOptions } from 'tidemark'
import { Type } from 'typebox'
import { sendList } from '../answers/json-list.ts'
import type { Context } from '../context.ts'
import { durationOf, requireOrder } from '../inputs.ts'
import { MOST_GROUPS } from '../live/overview.ts'
import { pageByName } from '../paging.ts'
import { API, type Route, route } from '../route.ts'
import { Count, DurationGiven, Empty, Id, nullable, PageLimit, strict, Text, TopicName } from '../schemas/common.ts'
import { GroupHealth } from '../schemas/groups.ts'
import { LanesQuery, LanesSchema } from '../schemas/lanes.ts'
import { Completion } from '../schemas/messages.ts'
import { ConfigPreview, TopicConfig, TopicOptionsGiven, TopicParams, TopicSummary } from '../schemas/topics.ts'
import { sees } from '../security/identity.ts'
import { identityOf } from '../security/visit.ts'
import { groupPage } from './groups.ts'

const tag = 'topics'

export const topicRoutes = (context: Context): Route[] => [
  route({
    method: 'GET',
    path: `${API}/topics`,
    tag,
    name: 'listTopics',
    role: 'read',
    scope: 'some',
    summary: 'List topics by name',
    query: strict({ after: Type.Optional(TopicName), limit: Type.Optional(PageLimit) }),
    answers: {
      200: {
        says: 'A page of topics',
        content: strict({ topics: Type.Array(TopicSummary), next: nullable(Type.String()) }),
      },
    },
    async handle({ query, request, reply }) {
      const identity = identityOf(request)
      const visible = (await context.topics.admin.topics()).filter(({ topic }) => sees(identity, 'read', topic))
      const nameOf = ({ topic }: (typeof visible)[number]): string => topic
      const { items, next } = pageByName(visible, nameOf, query)
      const page = { name: 'topics', items, toText: JSON.stringify, cursorOf: nameOf, next }
      return await sendList(reply, page, context.settings.limits.answerBytes)
    },
  }),

  route({
    method: 'GET',
    path: `${API}/topics/:topic`,
    tag,
    name: 'describeTopic',
    role: 'read',
    summary: 'Get a topic with its settings and groups',
    params: TopicParams,
    answers: {
      200: {
        says: 'The topic',
        content: strict({
          topic: Type.String(),
          config: TopicConfig,
          messagesPublished: Count,
          groups: Type.Array(GroupHealth),
          next: nullable(Type.String({ description: 'after for the list of its groups, where there are more.' })),
        }),
      },
    },
    async handle({ params: { topic }, reply }) {
      const { admin } = context.topics
      const { config, messagesPublished } = await admin.describeTopic(topic)
      const page = await groupPage(context, topic, {})
      const more = { topic, config, messagesPublished }
      return await sendList(reply, { ...page, more }, context.settings.limits.answerBytes)
    },
  }),

  route({
    method: 'PUT',
    path: `${API}/topics/:topic`,
    tag,
    name: 'configureTopic',
    role: 'admin',
    summary: 'Create a topic, or change the given settings of an existing one',
    params: TopicParams,
    body: TopicOptionsGiven,
    answers: { 200: { says: 'The topic with its effective settings', content: TopicSummary } },
    problems: [409],
    async handle({ params: { topic }, body }) {
      return { topic, config: await context.topics.admin.configureTopic(topic, body as TopicOptions) }
    },
  }),

  route({
    method: 'GET',
    path: `${API}/topics/:topic/lanes`,
    tag,
    name: 'lanes',
    role: 'read',
    summary: 'Get a part of the log with the position of each group; safe to poll',
    says:
      'The log is divided into parts of equal numbers of ids. Of each group at most 100 claims, retries and dead letters ' +
      'are listed, fewer with many groups; its counts are complete.',
    params: TopicParams,
    query: LanesQuery,
    answers: { 200: { says: 'The log and its groups', content: LanesSchema } },
    async handle({ params: { topic }, query, reply }) {
      requireOrder({ from: query.from, to: query.to })
      const lanes = await context.topics.admin.lanes(topic, query)
      return reply.header('cache-control', 'no-store').send({ ...lanes, groups: lanes.groups.slice(0, MOST_GROUPS) })
    },
  }),

  route({
    method: 'POST',
    path: `${API}/topics/:topic/config/preview`,
    tag,
    name: 'previewTopic',
    role: 'read',
    summary: 'Show which settings of a topic would change, without changing them',
    params: TopicParams,
    body: TopicOptionsGiven,
    answers: { 200: { says: 'What would change', content: ConfigPreview } },
    problems: [409],
    async handle({ params: { topic }, body }) {
      return await context.topics.admin.previewTopic(topic, body as TopicOptions)
    },
  }),

  route({
    method: 'DELETE',
    path: `${API}/topics/:topic`,
    tag,
    name: 'deleteTopic',
    role: 'admin',
    summary: 'Delete a topic with all its messages',
    says: 'Its groups stop in every process.',
    params: TopicParams,
    answers: { 204: { says: 'The topic was deleted' } },
    async handle({ params, reply }) {
      await context.topics.admin.deleteTopic(params.topic)
      return reply.code(204).send()
    },
  }),

  route({
    method: 'POST',
    path: `${API}/topics/:topic/tracking`,
    tag,
    name: 'setTracking',
    role: 'admin',
    summary: 'Change the tracking mode while groups keep running',
    params: TopicParams,
    body: strict({ tracking: Type.Enum(['offset', 'reference']) }),
    answers: {
      200: { says: 'The new tracking mode of all retained messages', content: strict({ tracking: Type.String() }) },
    },
    problems: [409],
    async handle({ params: { topic }, body: { tracking } }) {
      await context.topics.admin.setTracking(topic, tracking)
      return { tracking }
    },
  }),

  route({
    method: 'GET',
    path: `${API}/topics/:topic/completion`,
    tag,
    name: 'completion',
    large: true,
    role: 'read',
    summary: 'List required and completed groups per message (reference tracking)',
    params: TopicParams,
    query: strict({
      messageId: Type.Optional(Text),
      after: Type.Optional(Id),
      unfinished: Type.Optional(Type.Boolean()),
      limit: Type.Optional(PageLimit),
    }),
    answers: {
      200: {
        says: 'A page of messages, by id',
        content: strict({ completion: Type.Array(Completion), next: nullable(Type.Integer()) }),
      },
    },
    problems: [409],
    async handle({ params: { topic }, query, reply }) {
      const { limit = 100 } = query
      const items = await context.topics.admin.completion(topic, { ...query, limit })
      const next = items.length < limit ? null : (items.at(-1)?.id ?? null)
      return await sendList(
        reply,
        { name: 'completion', items, toText: each => JSON.stringify(each), cursorOf: ({ id }) => id, next },
        context.settings.limits.answerBytes,
      )
    },
  }),

  route({
    method: 'POST',
    path: `${API}/topics/:topic/complete-orphans`,
    tag,
    name: 'completeOrphans',
    role: 'operate',
    summary: 'Complete old messages that wait only for groups that are no longer active',
    params: TopicParams,
    body: strict({ olderThan: DurationGiven }),
    answers: { 200: { says: 'Number of completed messages', content: strict({ completed: Count }) } },
    problems: [409],
    async handle({ params: { topic }, body: { olderThan } }) {
      return { completed: await context.topics.admin.completeOrphans(topic, { olderThan: durationOf(olderThan) }) }
    },
  }),

  route({
    method: 'POST',
    path: `${API}/jobs/:job/run`,
    tag,
    name: 'runJob',
    role: 'operate',
    summary: 'Run a maintenance job now',
    params: strict({ job: Type.Enum(['dead-groups', 'messages', 'subscriptions', 'backfills']) }),
    body: Empty,
    answers: { 200: { says: 'Results of the job, by name', content: Type.Record(Type.String(), Type.Number()) } },
    problems: [409],
    async handle({ params: { job } }) {
      return await context.topics.admin.jobs[job].runOnce()
    },
  }),
]
