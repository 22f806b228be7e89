import { setTimeout as delay } from 'node:timers/promises'
import type { BackfillProgress as Progress } from 'tidemark'
import { Type } from 'typebox'
import type { Context } from '../context.ts'
import { NotFoundError } from '../errors.ts'
import { fromOf, given, mapped, planOf } from '../inputs.ts'
import { withPlainErrors } from '../problems/http-words.ts'
import { API, type Route, route } from '../route.ts'
import { Empty, From, strict } from '../schemas/common.ts'
import { BackfillFields, BackfillProgress, GroupParams } from '../schemas/groups.ts'

const tag = 'groups'
const GROUP = `${API}/topics/:topic/groups/:group`
/** Most backfills have ended by then. One that is limited to a few messages a second takes hours. */
const ANSWER_MS = 1_000

export const backfillRoutes = (context: Context): Route[] => [
  route({
    method: 'GET',
    path: `${GROUP}/backfill`,
    tag,
    name: 'backfill',
    role: 'read',
    summary: "Get the progress of a group's last backfill",
    params: GroupParams,
    answers: { 200: { says: 'Progress of the backfill', content: BackfillProgress } },
    async handle({ params: { topic, group } }) {
      const progress = await context.topics.admin.backfill(topic, group)
      if (progress === undefined) throw new NotFoundError(`Group '${group}' of topic '${topic}' has no backfill`)
      return withPlainErrors(progress)
    },
  }),

  route({
    method: 'POST',
    path: `${GROUP}/backfill`,
    tag,
    name: 'startBackfill',
    role: 'operate',
    summary: 'Deliver earlier messages to a group, from a position (default: the beginning) up to now',
    params: GroupParams,
    body: strict({ ...BackfillFields, from: Type.Optional(From) }),
    answers: { 200: { says: 'Progress of the backfill', content: BackfillProgress } },
    problems: [409, 410],
    async handle({ params: { topic, group }, body: { from, ...backfill } }) {
      const options = { ...planOf(backfill), ...given({ from: mapped(from, fromOf) }) }
      return await begun(context, topic, group, context.topics.admin.startBackfill(topic, group, options))
    },
  }),

  changeBackfill(context, 'cancel', 'cancelBackfill', 'Cancel a backfill; messages delivered so far remain'),
  changeBackfill(context, 'resume', 'resumeBackfill', 'Resume a backfill at its checkpoint'),
]

function changeBackfill(
  context: Context,
  verb: string,
  name: 'cancelBackfill' | 'resumeBackfill',
  summary: string,
): Route {
  return route({
    method: 'POST',
    path: `${GROUP}/backfill/${verb}`,
    tag,
    name,
    role: 'operate',
    summary,
    params: GroupParams,
    body: Empty,
    answers: { 200: { says: 'Progress of the backfill', content: BackfillProgress } },
    problems: [409],
    async handle({ params: { topic, group } }) {
      return await begun(context, topic, group, context.topics.admin[name](topic, group))
    },
  })
}

/** Answers with the end of a short backfill, and with the progress of a long one, which continues. */
async function begun(context: Context, topic: string, group: string, running: Promise<Progress>): Promise<object> {
  running.catch(error => context.settings.logger.debug({ err: error, topic, group }, 'a backfill has ended'))
  const ended = await Promise.race([running, delay(ANSWER_MS, undefined, { ref: false })])
  const progress = ended ?? (await context.topics.admin.backfill(topic, group)) ?? (await running)
  return withPlainErrors(progress)
}
