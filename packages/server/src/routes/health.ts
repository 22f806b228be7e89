import { setTimeout as delay } from 'node:timers/promises'
import type { Health, Metrics, Tidemark } from 'tidemark'
import { Type } from 'typebox'
import type { Context } from '../context.ts'
import type { Reason } from '../health/reasons.ts'
import type { ServerMetrics } from '../metrics.ts'
import { withPlainErrors } from '../problems/http-words.ts'
import { API, type Route, route } from '../route.ts'
import { strict } from '../schemas/common.ts'
import { EventSchema } from '../schemas/events.ts'
import { HealthSchema, LiveSchema, MOST_LISTED, ReadySchema, ServerHealthSchema } from '../schemas/health.ts'
import { visibleEvent, visibleMetrics } from '../security/visible.ts'
import { identityOf } from '../security/visit.ts'
import { DetailGiven, detailOf } from '../streams/detail.ts'
import { openStream } from '../streams/open-stream.ts'

const tag = 'server'
const CLOSING: Reason = { kind: 'closing', message: 'The server is closing', blocking: true }
const started = performance.now()

/** Queried once at a time: an unresponsive database must not use up the connections. */
const asked = new WeakMap<Tidemark, Promise<unknown>>()

export const healthRoutes = (context: Context, metrics: ServerMetrics): Route[] => [
  route({
    method: 'GET',
    path: '/health',
    tag,
    name: 'serverHealth',
    role: 'metrics',
    summary: 'Check whether the server is ready, for load balancers',
    answers: {
      200: { says: 'Ready', content: ServerHealthSchema },
      503: {
        says: 'Not ready: a database or the storage does not answer, a group is unable to claim, or a service fails',
        content: ServerHealthSchema,
      },
    },
    async handle({ reply }) {
      const { topics, pipeline } = context.settings
      const [ofTopics, ofPipeline] = await Promise.all([topics && topicsHealth(topics), pipeline?.look()])
      const isPipelineHealthy = ofPipeline?.healthy !== false
      const healthy = ofTopics?.healthy !== false && isPipelineHealthy
      return reply
        .code(healthy ? 200 : 503)
        .header('cache-control', 'no-store')
        .send({
          healthy,
          uptimeMs: performance.now() - started,
          topics: withPlainErrors(ofTopics ?? null),
          pipeline: pipeline === undefined ? null : { healthy: isPipelineHealthy },
        })
    },
  }),

  route({
    method: 'GET',
    path: '/health/live',
    tag,
    name: 'live',
    role: 'metrics',
    summary: 'Check whether the process answers at all, for liveness probes',
    says: 'Checks nothing else, because restarting this process does not help when a database is unavailable.',
    answers: { 200: { says: 'Alive', content: LiveSchema } },
    handle({ reply }) {
      return reply.header('cache-control', 'no-store').send({ alive: true, uptimeMs: performance.now() - started })
    },
  }),

  route({
    method: 'GET',
    path: '/health/ready',
    tag,
    name: 'ready',
    role: 'metrics',
    summary: 'Check whether the server can work, and why not, for readiness probes',
    says:
      'Not ready while the database, storage or index does not answer, a service fails, a group is unable to claim, ' +
      'or the server is closing. Problems that affect all servers alike, such as a dead group or an overdue job, are ' +
      'listed as reasons but do not block. Answers within 5 s.',
    answers: {
      200: { says: 'Ready; any reasons listed need an operator', content: ReadySchema },
      503: { says: 'Not ready; at least one reason is blocking', content: ReadySchema },
    },
    async handle({ reply }) {
      const { reasons: found } = await context.health.look()
      const reasons = context.closing.signal.aborted ? [CLOSING, ...found] : found
      const ready = reasons.every(({ blocking }) => !blocking)
      return reply
        .code(ready ? 200 : 503)
        .header('cache-control', 'no-store')
        .send({ ready, uptimeMs: performance.now() - started, reasons })
    },
  }),

  route({
    method: 'GET',
    path: `${API}/health`,
    tag,
    name: 'health',
    role: 'read',
    summary: 'Get everything that needs attention in topics, services and resources; safe to poll',
    answers: { 200: { says: 'Problems, and the lists they come from', content: HealthSchema } },
    async handle() {
      if (context.settings.pipeline === undefined) void context.topics
      const { reasons, topics = unknownHealth(context.settings.topics === undefined) } = await context.health.look()
      const { lists, omitted } = firstOfEach(healthJson(topics), MOST_LISTED)
      return withPlainErrors({ ...lists, healthy: reasons.length === 0, reasons, omitted })
    },
  }),

  route({
    method: 'GET',
    path: '/metrics',
    tag,
    name: 'metrics',
    role: 'metrics',
    scope: 'some',
    summary: 'Get metrics for Prometheus',
    answers: { 200: { says: 'Prometheus text format', content: { 'text/plain': Type.String() } } },
    async handle({ request, reply }) {
      const text = visibleMetrics(identityOf(request), await metrics.text())
      return reply.header('content-type', metrics.contentType).send(text)
    },
  }),

  route({
    method: 'GET',
    path: `${API}/events`,
    tag,
    name: 'events',
    role: 'read',
    scope: 'some',
    summary: 'Stream all events as server-sent events',
    says:
      'topic: an event of this process. activity: messages published, received and acknowledged by all processes, ' +
      'summed up per second. change: a topic or group was created, changed or removed by any process. service: a ' +
      'service changed its state or failed. pipeline: the status of the services. run: the last indexed tick of ' +
      'the newest run and of every run that grows. series: new points of a run asked for in detail. lanes: a topic asked for in detail, with its groups. A reader that is too slow ' +
      'is disconnected. Reconnecting with Last-Event-ID continues where the stream stopped; a missed event reports that some events were no longer available.',
    query: strict({
      after: Type.Optional(
        Type.String({
          maxLength: 64,
          description:
            'Id of the last event, for a client that cannot send Last-Event-ID. The header takes precedence.',
        }),
      ),
      detail: Type.Optional(DetailGiven),
      page: Type.Optional(
        Type.String({
          pattern: '^[0-9a-f]{12}$',
          description: 'Version of the page that reads: hello tells the one of the server.',
        }),
      ),
    }),
    answers: { 200: { says: 'Endless stream of events', content: { 'text/event-stream': EventSchema } } },
    raw: true,
    async handle({ query: { after, detail, page }, request, reply }) {
      const current = page === undefined ? undefined : await context.pageVersion()
      const last = request.headers['last-event-id'] ?? after
      await openStream(context, request, reply, stream => {
        stream.show = event => visibleEvent(identityOf(request), event)
        const lastId = typeof last === 'string' ? last : undefined
        return context.events.follow(stream, lastId, detailOf(detail), current)
      })
    },
  }),
]

/** A load balancer does not wait longer, and a silent database would never answer. */
const ANSWER_MS = 4_000

type TopicsHealth = Pick<Metrics, 'failing'> & { readonly healthy: boolean; readonly unreachableSince: Date | null }

async function topicsHealth(topics: Tidemark): Promise<TopicsHealth> {
  const askedAt = new Date()
  const question = asked.get(topics) ?? topics.admin.topics().finally(() => asked.delete(topics))
  asked.set(topics, question)
  const isReachable = await answers(question)
  const { outages, failing } = topics.metrics()
  const outage = outages.find(({ kind }) => kind === 'connection')
  const unreachableSince = isReachable ? null : (outage?.since ?? askedAt)
  const listed = failing.slice(0, MOST_LISTED)
  return { healthy: isReachable && failing.length === 0, unreachableSince, failing: listed }
}

async function answers(question: Promise<unknown>): Promise<boolean> {
  const late = new AbortController()
  try {
    const waiting = delay(ANSWER_MS, false, { signal: late.signal }).catch(() => false)
    return await Promise.race([question.then(() => true), waiting])
  } catch {
    // Every route that needs the database reports why it does not answer.
    return false
  } finally {
    late.abort()
  }
}

/** Health of topics that are not served, or did not answer. */
const unknownHealth = (reachable: boolean): Health => ({
  healthy: reachable,
  checkedAt: new Date(),
  nearTimeout: [],
  dead: [],
  lost: [],
  stuck: [],
  inconsistencies: [],
  cleanUp: { behind: false, lastRunAt: null, overdue: false, removable: [] },
  clock: null,
  partitions: [],
  horizonHolders: [],
  zombies: [],
  unsubscribed: [],
  jobs: [],
  database: { reachable, unreachableSince: null, error: null },
  failing: [],
})

const dateOf = (time: number | null): Date | null => (time === null ? null : new Date(time))

const healthJson = (health: Health): object => ({
  ...health,
  unsubscribed: health.unsubscribed.map(each => ({ ...each, oldestAt: new Date(each.oldestAt) })),
  jobs: health.jobs.map(each => ({
    ...each,
    startedAt: dateOf(each.startedAt),
    finishedAt: dateOf(each.finishedAt),
    succeededAt: dateOf(each.succeededAt),
  })),
})

type Listed = { readonly lists: object; readonly omitted: number }

/** The first entries of every list in it, also of nested ones, and how many were left out. */
function firstOfEach(value: object, most: number): Listed {
  let omitted = 0
  const shorten = (each: unknown): unknown => {
    if (Array.isArray(each)) {
      omitted += Math.max(0, each.length - most)
      return each.slice(0, most)
    }
    const isPlain = typeof each === 'object' && each !== null && Object.getPrototypeOf(each) === Object.prototype
    return isPlain ? Object.fromEntries(Object.entries(each).map(([name, inner]) => [name, shorten(inner)])) : each
  }
  return { lists: shorten(value) as object, omitted }
}
