import { Type } from 'typebox'
import type { Context } from '../context.ts'
import { overviewOf } from '../live/overview.ts'
import { STEPS, type Step } from '../live/rate-history.ts'
import { API, type Route, route } from '../route.ts'
import { strict } from '../schemas/common.ts'
import { HistorySchema, OverviewSchema, ServerFactsSchema } from '../schemas/live.ts'
import { isLimited, sees } from '../security/identity.ts'
import { visibleOverview } from '../security/visible.ts'
import { identityOf } from '../security/visit.ts'
import { VERSION } from '../version.ts'

const tag = 'live'
const startedAt = new Date()

export const liveRoutes = (context: Context): Route[] => [
  route({
    method: 'GET',
    path: `${API}/server`,
    tag,
    name: 'server',
    role: 'read',
    summary: 'Get facts about this server: version, engine, what it serves, disk, and the roles of the caller',
    answers: { 200: { says: 'Facts about the server', content: ServerFactsSchema } },
    async handle({ request, reply }) {
      const { topics, pipeline, indexes, ingest } = context.settings
      const identity = identityOf(request)
      return reply.header('cache-control', 'no-store').send({
        version: VERSION,
        engine: topics?.engine ?? null,
        namespace: topics?.namespace ?? null,
        startedAt,
        now: new Date(),
        name: identity.name,
        roles: identity.grants,
        serves: {
          topics: topics !== undefined,
          pipeline: pipeline !== undefined,
          runs: indexes !== undefined,
          ingest: ingest !== undefined,
        },
        disk: isLimited(identity, 'read') ? { database: null, storage: null } : await diskOf(context),
      })
    },
  }),

  route({
    method: 'GET',
    path: `${API}/overview`,
    tag,
    name: 'overview',
    role: 'read',
    scope: 'some',
    summary: 'Get all topics and groups with their rates, and what needs attention; safe to poll',
    says: 'Figures are at most a second old. However many callers there are, the database is asked once a second.',
    answers: { 200: { says: 'Overview', content: OverviewSchema } },
    async handle({ request, reply }) {
      const [looked, newestRun] = await Promise.all([context.live.read(), context.newestRun()])
      const overview = overviewOf(looked, newestRun)
      const identity = identityOf(request)
      const visible = isLimited(identity, 'read')
        ? visibleOverview(overview, topic => sees(identity, 'read', topic))
        : overview
      return reply.header('cache-control', 'no-store').send(visible)
    },
  }),

  route({
    method: 'GET',
    path: `${API}/history`,
    tag,
    name: 'history',
    role: 'read',
    summary: 'Get rates and lags over time',
    says: 'Kept in memory since the server started: 5 minutes by the second, an hour by 10 s, a day by the minute.',
    query: strict({
      series: Type.String({
        minLength: 1,
        maxLength: 20_000,
        description: 'Series, separated by commas: topic:<topic> or group:<topic>/<group>.',
        examples: ['topic:orders,group:orders/email'],
      }),
      step: Type.Optional(Type.Enum(Object.keys(STEPS), { default: '1s' })),
      points: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_440, default: 300 })),
    }),
    answers: { 200: { says: 'Columns by series; null: unknown', content: HistorySchema } },
    async handle({ query: { series, step = '1s', points = 300 }, reply }) {
      const chosen = step as Step
      const now = Date.now()
      const count = Math.min(points, STEPS[chosen].points)
      const names = series.split(',').slice(0, context.settings.limits.historySeries)
      const found = names.map(name => [name, context.live.history.read(name, chosen, count, now)] as const)
      return reply
        .header('cache-control', 'no-store')
        .send({ step, end: new Date(now), since: startedAt, series: Object.fromEntries(found) })
    },
  }),
]

async function diskOf(context: Context): Promise<{ database: number | null; storage: number | null }> {
  const { topics, pipeline } = context.settings
  const parts = pipeline === undefined ? undefined : (await context.pipeline.look()).disk.parts
  const stored = parts?.filter(({ kind }) => kind === 'storage')
  return {
    database: (await topics?.admin.size())?.bytes ?? null,
    storage: stored?.reduce((sum, { bytes }) => sum + bytes, 0) ?? null,
  }
}
