import type { Claim as ClaimGiven } from 'tidemark'
import { Type } from 'typebox'
import { sendList } from '../answers/json-list.ts'
import type { Context } from '../context.ts'
import { API, type Route, route } from '../route.ts'
import { Count, GroupName, nullable, PageLimit, strict, Text } from '../schemas/common.ts'
import { Claim, ClaimParams } from '../schemas/messages.ts'
import { TopicParams } from '../schemas/topics.ts'

const tag = 'claims'
/** Messages named in one answer: about 5 MB. A page that would name more is shorter, and has a next one. */
const MOST_NAMED = 40_000
const CLAIMS = `${API}/topics/:topic/claims`

export const claimRoutes = (context: Context): Route[] => [
  route({
    method: 'GET',
    path: CLAIMS,
    tag,
    name: 'listClaims',
    role: 'read',
    summary: 'List claims with their messages, consumer, start and expiry, oldest first',
    params: TopicParams,
    query: strict({
      group: Type.Optional(GroupName),
      consumer: Type.Optional(Text),
      after: Type.Optional(Type.String({ maxLength: 64, description: "Value of 'next' of the previous page." })),
      limit: Type.Optional(PageLimit),
      messages: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: 1_000,
          default: 20,
          description: 'Maximum number of messages listed per claim.',
        }),
      ),
    }),
    answers: {
      200: { says: 'A page', content: strict({ claims: Type.Array(Claim), next: nullable(Type.String()) }) },
    },
    async handle({ params: { topic }, query, request, reply }) {
      const { limit = 100, messages = 20 } = query
      const { answerBytes } = context.settings.limits
      const most = Math.max(1, Math.floor(MOST_NAMED / Math.max(1, messages)))
      const read = () => context.topics.admin.claims(topic, { ...query, limit: Math.min(limit, most) })
      const page = await context.sharedReads.read(request, read)
      const fitting = countFitting(page.claims, answerBytes)
      // Only the database knows the position after a claim.
      const { next } =
        fitting === page.claims.length ? page : await context.topics.admin.claims(topic, { ...query, limit: fitting })
      const items = page.claims.slice(0, fitting)
      return await sendList(
        reply,
        { name: 'claims', items, toText: JSON.stringify, cursorOf: () => next ?? '', next },
        answerBytes,
      )
    },
  }),

  route({
    method: 'POST',
    path: `${CLAIMS}/:claim/release`,
    tag,
    name: 'releaseClaim',
    role: 'operate',
    summary: 'Release a claim at once, even one that never expires',
    says: 'The attempt counts: messages without attempts left are dead-lettered. Later settlements of its holder are stale.',
    params: ClaimParams,
    answers: {
      200: {
        says: 'The former holder, and the number of redelivered and dead-lettered messages',
        content: strict({
          topic: Type.String(),
          group: Type.String({ description: 'Name of the group; empty for a queue.' }),
          consumer: Type.String(),
          released: Count,
          deadLettered: Count,
        }),
      },
    },
    async handle({ params: { topic, claim } }) {
      return await context.topics.admin.releaseClaim(topic, claim)
    },
  }),
]

/** How many of them fit into an answer; at least one. */
function countFitting(claims: readonly ClaimGiven[], maxBytes: number): number {
  let bytes = 0
  const beyond = claims.findIndex((claim, index) => {
    bytes += Buffer.byteLength(JSON.stringify(claim)) + 1
    return index > 0 && bytes > maxBytes
  })
  return beyond === -1 ? claims.length : beyond
}
