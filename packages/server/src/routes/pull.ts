import { Turns } from '@tidemark/pipeline'
import type { FastifyRequest } from 'fastify'
import type { Pulled, PullNack, StoredPayload } from 'tidemark'
import { type Static, Type } from 'typebox'
import { sendJson } from '../answers/json-list.ts'
import type { Context } from '../context.ts'
import { durationOf, fromOf, given, mapped } from '../inputs.ts'
import { toText } from '../message-json.ts'
import { API, type Route, route } from '../route.ts'
import { ConsumerName, DurationGiven, From, GroupName, Id, nullable, strict } from '../schemas/common.ts'
import { PulledMessage } from '../schemas/messages.ts'
import { TopicParams } from '../schemas/topics.ts'
import { requireTopic, visitOf } from '../security/visit.ts'
import { untilGone } from '../until-gone.ts'

const tag = 'pull'
const Receipt = Type.String({ minLength: 1, maxLength: 2 * 1024 * 1024, description: 'Receipt of the pull.' })

const NackGiven = strict({
  id: Id,
  error: Type.Optional(
    strict({
      name: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
      message: Type.String({ maxLength: 10_000 }),
    }),
  ),
  delay: Type.Optional(DurationGiven),
})

export const pullRoutes = (context: Context): Route[] => [
  route({
    method: 'POST',
    path: `${API}/topics/:topic/pull`,
    tag,
    name: 'pull',
    role: 'consume',
    summary: 'Claim messages under a lease',
    says:
      'Settle them with the receipt before the lease expires, on this server or any other of the same database. Unsettled ' +
      'messages are redelivered with the next version.',
    params: TopicParams,
    body: strict({
      group: Type.Optional(GroupName),
      consumer: Type.Optional(ConsumerName),
      max: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000, default: 1 })),
      waitMs: Type.Optional(Type.Integer({ minimum: 0, maximum: 600_000, default: 0 })),
      lease: Type.Optional(DurationGiven),
      from: Type.Optional(From),
    }),
    answers: {
      200: {
        says: 'Messages with the receipt to settle them; no receipt if there were none',
        content: strict({
          receipt: nullable(Type.String()),
          leaseMs: Type.Number({ description: 'Remaining lease in milliseconds; 0 never expires.' }),
          messages: Type.Array(PulledMessage, { maxItems: 1_000 }),
        }),
      },
    },
    problems: [410, 503],
    async handle({ params: { topic }, body, request, reply }) {
      const { topics, settings, pulls, closing, largeAnswers, unreadPulls } = context
      const { group, consumer, max = 1, waitMs = 0, lease, from } = body
      const { pullBytes, pullWaitMs } = settings.limits
      const wait = Math.min(waitMs, pullWaitMs)
      const until = performance.now() + wait
      const leave = pulls.take()
      using gone = untilGone(request, closing.signal)
      try {
        const pulled = await topics.pull(topic, group, {
          ...given({ consumer, max, lease: mapped(lease, durationOf), from: mapped(from, fromOf) }),
          raw: true,
          reserve: signal => {
            const pulling = { messages: max, bytes: pullBytes, waitMs: until - performance.now() }
            return largeAnswers.reserve(reply.raw, pulling, signal)
          },
          maxBytes: pullBytes,
          wait,
          signal: gone.signal,
        })
        using unread = unreadPulls.watch(reply.raw, pulled.receipt)
        const json = await largeAnswers.inTurnOfPulls(() => pulledJson(pulled))
        unread.isAnswered = true
        return sendJson(reply, json)
      } finally {
        leave()
      }
    },
  }),

  route({
    method: 'POST',
    path: `${API}/settle`,
    tag,
    name: 'settle',
    role: 'consume',
    scope: 'some',
    summary: 'Acknowledge or reject pulled messages; idempotent',
    says: 'A receipt whose lease was lost changes nothing and returns 409 TIDEMARK_STALE_DELIVERY.',
    body: strict({
      receipt: Receipt,
      acks: Type.Optional(Type.Union([Type.Literal('all'), Type.Array(Id, { maxItems: 1_000 })])),
      nacks: Type.Optional(Type.Array(NackGiven, { maxItems: 1_000 })),
    }),
    answers: { 204: { says: 'Settled' } },
    problems: [409, 410],
    async handle({ body: { receipt, acks, nacks }, request, reply }) {
      await requireReceipt(context, request, receipt)
      await context.topics.settle(receipt, given({ acks, nacks: mapped(nacks, list => list.map(nackOf)) }))
      return reply.code(204).send()
    },
  }),

  route({
    method: 'POST',
    path: `${API}/extend`,
    tag,
    name: 'extend',
    role: 'consume',
    scope: 'some',
    summary: 'Extend the lease of pulled messages, counted from now',
    body: strict({ receipt: Receipt, lease: Type.Optional(DurationGiven) }),
    answers: { 200: { says: 'The new lease', content: strict({ leaseMs: Type.Number() }) } },
    problems: [409, 410],
    async handle({ body: { receipt, lease }, request }) {
      await requireReceipt(context, request, receipt)
      return await context.topics.extend(receipt, mapped(lease, durationOf))
    },
  }),
]

/** Only the receipt knows the topic, and the audit names it. */
async function requireReceipt({ topics }: Context, request: FastifyRequest, receipt: string): Promise<void> {
  const { topic } = await topics.readReceipt(receipt)
  visitOf(request).topic = topic
  requireTopic(request, 'consume', topic)
}

async function pulledJson({ receipt, leaseMs, messages }: Pulled<StoredPayload>): Promise<Buffer> {
  const turns = new Turns()
  const texts: string[] = []
  for (const message of messages) {
    await turns.pass()
    texts.push(toText(message))
  }
  return Buffer.from(`${JSON.stringify({ receipt, leaseMs }).slice(0, -1)},"messages":[${texts.join(',')}]}`)
}

function nackOf({ id, error, delay }: Static<typeof NackGiven>): PullNack {
  return { id, ...given({ error: mapped(error, errorOf), delay: mapped(delay, durationOf) }) }
}

/** The error that the client reports, as the dead letters will show it. */
function errorOf({ name = 'Error', message }: { name?: string; message: string }): Error {
  const error = new Error(message)
  error.name = name
  return error
}
