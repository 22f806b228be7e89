import type { ConsumerHealth, GroupHealth as Group, GroupMember, WaitingRetry as Retry } from 'tidemark'
import { GroupNotFoundError } from 'tidemark'
import { type Static, Type } from 'typebox'
import { bytesToRead } from '../answers/bytes-to-read.ts'
import { type ListAnswer, sendList } from '../answers/json-list.ts'
import type { Context } from '../context.ts'
import { fromOf, planOf } from '../inputs.ts'
import { MOST_CHANGES } from '../live/group-changes.ts'
import { pageByName } from '../paging.ts'
import { withPlainErrors } from '../problems/http-words.ts'
import { API, type Route, route } from '../route.ts'
import { Count, Empty, From, GroupName, Id, nullable, PageLimit, strict, Text, Time } from '../schemas/common.ts'
import {
  BackfillGiven,
  Consumer,
  GroupChange,
  GroupHealth,
  GroupParams,
  Member,
  ResetPreview,
} from '../schemas/groups.ts'
import { MOST_FAILURES, WaitingRetry } from '../schemas/messages.ts'
import { TopicParams } from '../schemas/topics.ts'

const tag = 'groups'
const STARTED_AT = new Date()
const GROUP = `${API}/topics/:topic/groups/:group`

export const groupRoutes = (context: Context): Route[] => [
  route({
    method: 'GET',
    path: `${API}/topics/:topic/groups`,
    tag,
    name: 'listGroups',
    role: 'read',
    summary: 'List the groups of a topic with health, lag and counts, by name',
    params: TopicParams,
    query: strict({ after: Type.Optional(GroupName), limit: Type.Optional(PageLimit) }),
    answers: {
      200: {
        says: 'A page of groups',
        content: strict({ groups: Type.Array(GroupHealth), next: nullable(Type.String()) }),
      },
    },
    async handle({ params: { topic }, query, reply }) {
      return await sendList(reply, await groupPage(context, topic, query), context.settings.limits.answerBytes)
    },
  }),

  route({
    method: 'GET',
    path: GROUP,
    tag,
    name: 'describeGroup',
    role: 'read',
    summary: 'Get a group',
    params: GroupParams,
    answers: { 200: { says: 'The group', content: GroupHealth } },
    async handle({ params }) {
      return await find(context, params)
    },
  }),

  route({
    method: 'GET',
    path: `${GROUP}/consumers`,
    tag,
    name: 'listConsumers',
    role: 'read',
    summary: 'List the consumers of a group in every process, with throughput and last activity',
    params: GroupParams,
    query: strict({ after: Type.Optional(Text), limit: Type.Optional(PageLimit) }),
    answers: {
      200: {
        says: 'A page of consumers, by name and process',
        content: strict({ consumers: Type.Array(Consumer), next: nullable(Type.String()) }),
      },
    },
    async handle({ params: { topic, group }, query, request, reply }) {
      const cursorOf = ({ consumer, instance }: ConsumerHealth): string => `${consumer}/${instance}`
      const all = await context.sharedReads.read(request, () => context.topics.admin.consumers(topic, { group }))
      const { items, next } = pageByName(all, cursorOf, query)
      const page = { name: 'consumers', items, toText: JSON.stringify, cursorOf, next }
      return await sendList(reply, page, context.settings.limits.answerBytes)
    },
  }),

  route({
    method: 'GET',
    path: `${GROUP}/members`,
    tag,
    name: 'listMembers',
    role: 'read',
    summary: 'List the processes that consume for a group, and the clients that hold messages of it',
    params: GroupParams,
    query: strict({ after: Type.Optional(Type.String({ maxLength: 4_096 })), limit: Type.Optional(PageLimit) }),
    answers: {
      200: {
        says: 'A page of members, by name and process',
        content: strict({ members: Type.Array(Member), next: nullable(Type.String()) }),
      },
    },
    async handle({ params: { topic, group }, query, request, reply }) {
      const cursorOf = ({ consumer, host, pid }: GroupMember): string => `${consumer}/${host}/${pid}`
      const all = await context.sharedReads.read(request, () => context.topics.admin.members(topic, group))
      const { items, next } = pageByName(all, cursorOf, query)
      const page = { name: 'members', items, toText: JSON.stringify, cursorOf, next }
      return await sendList(reply, page, context.settings.limits.answerBytes)
    },
  }),

  route({
    method: 'GET',
    path: `${GROUP}/retries`,
    tag,
    name: 'listRetries',
    large: true,
    role: 'read',
    summary: 'List messages that wait for redelivery, with due time and error, by id',
    params: GroupParams,
    query: strict({ after: Type.Optional(Id), limit: Type.Optional(PageLimit) }),
    answers: {
      200: {
        says: 'A page',
        content: strict({ retries: Type.Array(WaitingRetry), next: nullable(Type.Integer()) }),
      },
    },
    async handle({ params: { topic, group }, query, request, reply }) {
      const { answerBytes } = context.settings.limits
      const { maxBytes } = bytesToRead(answerBytes)
      const read = () => context.topics.admin.retryPage(topic, { ...query, group, maxBytes })
      const { retries: items, next } = await context.sharedReads.read(request, read)
      const toText = (retry: Retry): string => JSON.stringify(withPlainErrors(retryJson(retry)))
      return await sendList(reply, { name: 'retries', items, toText, cursorOf: ({ id }) => id, next }, answerBytes)
    },
  }),

  route({
    method: 'GET',
    path: `${GROUP}/history`,
    tag,
    name: 'groupHistory',
    role: 'read',
    summary: 'List changes of the status of a group, missed heartbeats and losses, oldest first',
    says: `Kept in memory since the server started, at most ${MOST_CHANGES} per group. Changes by any process are seen within 10 s.`,
    params: GroupParams,
    answers: {
      200: {
        says: 'Changes of the group',
        content: strict({ since: Time, changes: Type.Array(GroupChange, { maxItems: MOST_CHANGES }) }),
      },
    },
    async handle({ params: { topic, group }, reply }) {
      const { group: name } = (await find(context, { topic, group })) as { group: string }
      await context.live.read()
      return reply
        .header('cache-control', 'no-store')
        .send({ since: STARTED_AT, changes: context.live.groupChanges.read(topic, name) ?? [] })
    },
  }),

  simple(context, 'pause', 'pauseGroup', 'Pause a group in every process until it is resumed'),
  simple(context, 'resume', 'resumeGroup', 'Resume a paused group'),
  simple(context, 'cancel', 'cancelGroup', 'Cancel a group permanently; messages are no longer kept for it'),

  route({
    method: 'POST',
    path: `${GROUP}/resurrect`,
    tag,
    name: 'resurrectGroup',
    role: 'operate',
    summary: 'Reactivate a dead group where it stopped, or at the newest message with backfill: false',
    params: GroupParams,
    body: strict({ backfill: Type.Optional(Type.Union([Type.Literal(false), BackfillGiven])) }),
    answers: {
      200: {
        says: 'Number of lost and skipped messages, and whether a backfill is running',
        content: strict({ epoch: Type.Integer(), skipped: Count, lost: Count, backfill: Type.Boolean() }),
      },
    },
    problems: [409],
    async handle({ params: { topic, group }, body: { backfill } }) {
      const options = backfill === undefined ? {} : { backfill: backfill === false ? backfill : planOf(backfill) }
      return await context.topics.admin.resurrectGroup(topic, group, options)
    },
  }),

  route({
    method: 'POST',
    path: `${GROUP}/acknowledge-loss`,
    tag,
    name: 'acknowledgeLoss',
    role: 'operate',
    summary: 'Acknowledge lost messages, so that health no longer reports them',
    params: GroupParams,
    body: Empty,
    answers: {
      200: { says: 'Number of newly acknowledged lost messages', content: strict({ acknowledged: Count }) },
    },
    async handle({ params: { topic, group } }) {
      return await context.topics.admin.acknowledgeLoss(topic, group)
    },
  }),

  route({
    method: 'POST',
    path: `${GROUP}/reset`,
    tag,
    name: 'resetGroup',
    role: 'operate',
    summary: 'Move a group to a position, backward or forward',
    says: 'Its claims are released, and later settlements of them are stale.',
    params: GroupParams,
    body: strict({ to: From, backfill: Type.Optional(BackfillGiven) }),
    answers: { 200: { says: 'The group', content: GroupHealth } },
    problems: [409, 410],
    async handle({ params, body: { to, backfill } }) {
      const options = backfill === undefined ? {} : { backfill: planOf(backfill) }
      await context.topics.admin.resetGroup(params.topic, params.group, fromOf(to), options)
      return await find(context, params)
    },
  }),

  route({
    method: 'POST',
    path: `${GROUP}/reset/preview`,
    tag,
    name: 'previewReset',
    role: 'read',
    summary: 'Show what a reset would do, in numbers, without doing it',
    params: GroupParams,
    body: strict({ to: From }),
    answers: { 200: { says: 'What the reset would do', content: ResetPreview } },
    problems: [409, 410],
    async handle({ params: { topic, group }, body: { to } }) {
      return await context.topics.admin.previewReset(topic, group, fromOf(to))
    },
  }),

  route({
    method: 'DELETE',
    path: GROUP,
    tag,
    name: 'removeGroup',
    role: 'admin',
    summary: 'Cancel a group, wait for its messages in flight, and delete it; its dead letters remain',
    params: GroupParams,
    query: strict({ timeoutMs: Type.Optional(Type.Integer({ minimum: 0, maximum: 60_000, default: 10_000 })) }),
    answers: {
      200: {
        says: 'Number of messages still in flight at the timeout',
        content: strict({ abandoned: Count }),
      },
    },
    problems: [409],
    async handle({ params: { topic, group }, query: { timeoutMs = 10_000 } }) {
      return await context.topics.admin.removeGroup(topic, group, { timeout: timeoutMs })
    },
  }),
]

function simple(
  context: Context,
  verb: string,
  name: 'pauseGroup' | 'resumeGroup' | 'cancelGroup',
  summary: string,
): Route {
  return route({
    method: 'POST',
    path: `${GROUP}/${verb}`,
    tag,
    name,
    role: verb === 'cancel' ? 'admin' : 'operate',
    summary,
    params: GroupParams,
    body: Empty,
    answers: { 200: { says: 'The group', content: GroupHealth } },
    problems: [409],
    async handle({ params }) {
      await context.topics.admin[name](params.topic, params.group)
      return await find(context, params)
    },
  })
}

/** A page of the groups of a topic, by name. */
export async function groupPage(
  context: Context,
  topic: string,
  query: { readonly after?: string; readonly limit?: number },
): Promise<ListAnswer<Group>> {
  const groups = await context.topics.admin.groups(topic)
  const sorted = groups.toSorted((one, other) => (one.group < other.group ? -1 : 1))
  const cursorOf = ({ group }: Group): string => group
  const { items, next } = pageByName(sorted, cursorOf, query)
  return { name: 'groups', items, toText: group => JSON.stringify(withPlainErrors(group)), cursorOf, next }
}

async function find(context: Context, { topic, group }: Static<typeof GroupParams>): Promise<object> {
  const groups = await context.topics.admin.groups(topic)
  const found = groups.find(each => each.group === group) ?? groups.find(each => each.group === '')
  if (found !== undefined) return withPlainErrors(found)
  throw new GroupNotFoundError(
    topic,
    group,
    groups.map(each => each.group),
  )
}

const retryJson = (retry: Retry): object => ({
  ...retry,
  history: retry.history.slice(-MOST_FAILURES).map(({ at, ...each }) => ({ ...each, at: new Date(at) })),
})
