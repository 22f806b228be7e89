import type { TopicOptions } from 'tidemark'
import { Type } from 'typebox'
import type { Context } from '../context.ts'
import { NotFoundError } from '../errors.ts'
import { durationOf } from '../inputs.ts'
import { pageByName } from '../paging.ts'
import { API, type Route, route } from '../route.ts'
import { Count, DurationGiven, Empty, Id, nullable, PageLimit, strict, Text, TopicName } from '../schemas/common.ts'
import { GroupHealth } from '../schemas/groups.ts'
import { Completion } from '../schemas/messages.ts'
import { TopicConfig, TopicOptionsGiven, TopicParams, TopicSummary } from '../schemas/topics.ts'
import { sees } from '../security/identity.ts'
import { identityOf } from '../security/visit.ts'

const tag = 'topics'

export const topicRoutes = (context: Context): Route[] => [
  route({
    method: 'GET',
    path: `${API}/topics`,
    tag,
    name: 'listTopics',
    role: 'read',
    scope: 'some',
    summary: 'The topics, by name',
    query: strict({ after: Type.Optional(TopicName), limit: Type.Optional(PageLimit) }),
    answers: {
      200: {
        says: 'A page of topics',
        content: strict({ topics: Type.Array(TopicSummary), next: nullable(Type.String()) }),
      },
    },
    async handle({ query, request }) {
      const identity = identityOf(request)
      const visible = (await context.topics.admin.topics()).filter(({ topic }) => sees(identity, 'read', topic))
      const { items, next } = pageByName(visible, ({ topic }) => topic, query)
      return { topics: items, next }
    },
  }),

  route({
    method: 'GET',
    path: `${API}/topics/:topic`,
    tag,
    name: 'describeTopic',
    role: 'read',
    summary: 'A topic: its settings and its groups',
    params: TopicParams,
    answers: {
      200: {
        says: 'The topic',
        content: strict({
          topic: Type.String(),
          config: TopicConfig,
          messagesPublished: Count,
          groups: Type.Array(GroupHealth),
        }),
      },
    },
    async handle({ params: { topic } }) {
      const { admin } = context.topics
      const { messagesPublished } = await admin.describeTopic(topic)
      const found = (await admin.topics()).find(each => each.topic === topic)
      if (found === undefined) throw new NotFoundError(`Topic '${topic}' was deleted just now`)
      return { ...found, messagesPublished, groups: await admin.groups(topic) }
    },
  }),

  route({
    method: 'PUT',
    path: `${API}/topics/:topic`,
    tag,
    name: 'configureTopic',
    role: 'admin',
    summary: 'Creates the topic, or changes the settings given of one that exists',
    params: TopicParams,
    body: TopicOptionsGiven,
    answers: { 200: { says: 'The settings it has now', content: TopicSummary } },
    problems: [409],
    async handle({ params: { topic }, body }) {
      return { topic, config: await context.topics.admin.configureTopic(topic, body as TopicOptions) }
    },
  }),

  route({
    method: 'DELETE',
    path: `${API}/topics/:topic`,
    tag,
    name: 'deleteTopic',
    role: 'admin',
    summary: 'Deletes the topic with all its messages',
    says: 'Groups that run on it, in any process, stop.',
    params: TopicParams,
    answers: { 204: { says: 'It is gone' } },
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
    summary: 'Changes how completion is tracked, while groups keep running',
    params: TopicParams,
    body: strict({ tracking: Type.Enum(['offset', 'reference']) }),
    answers: { 200: { says: 'All that is kept is tracked that way', content: strict({ tracking: Type.String() }) } },
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
    role: 'read',
    summary: 'Who has to process a message, and who has (reference tracking)',
    params: TopicParams,
    query: strict({
      messageId: Type.Optional(Text),
      after: Type.Optional(Id),
      unfinished: Type.Optional(Type.Boolean()),
      limit: Type.Optional(PageLimit),
    }),
    answers: {
      200: {
        says: 'A page, by id',
        content: strict({ completion: Type.Array(Completion), next: nullable(Type.Integer()) }),
      },
    },
    problems: [409],
    async handle({ params: { topic }, query }) {
      const { limit = 100 } = query
      const completion = await context.topics.admin.completion(topic, { ...query, limit })
      return { completion, next: completion.length < limit ? null : (completion.at(-1)?.id ?? null) }
    },
  }),

  route({
    method: 'POST',
    path: `${API}/topics/:topic/complete-orphans`,
    tag,
    name: 'completeOrphans',
    role: 'operate',
    summary: 'What waits only for groups that are not live, and is older than this, waits no longer',
    params: TopicParams,
    body: strict({ olderThan: DurationGiven }),
    answers: { 200: { says: 'How many messages', content: strict({ completed: Count }) } },
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
    summary: 'Runs a maintenance job now',
    params: strict({ job: Type.Enum(['dead-groups', 'messages', 'subscriptions', 'backfills']) }),
    body: Empty,
    answers: { 200: { says: 'What it did, by name', content: Type.Record(Type.String(), Type.Number()) } },
    problems: [409],
    async handle({ params: { job } }) {
      return await context.topics.admin.jobs[job].runOnce()
    },
  }),
]
