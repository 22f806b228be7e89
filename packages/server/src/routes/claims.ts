import { Type } from 'typebox'
import type { Context } from '../context.ts'
import { API, type Route, route } from '../route.ts'
import { Count, GroupName, nullable, PageLimit, strict, Text } from '../schemas/common.ts'
import { Claim, ClaimParams } from '../schemas/messages.ts'
import { TopicParams } from '../schemas/topics.ts'

const tag = 'claims'
const CLAIMS = `${API}/topics/:topic/claims`

export const claimRoutes = (context: Context): Route[] => [
  route({
    method: 'GET',
    path: CLAIMS,
    tag,
    name: 'listClaims',
    role: 'read',
    summary: 'Messages that consumers hold: which, who, since when, until when; the longest held first',
    params: TopicParams,
    query: strict({
      group: Type.Optional(GroupName),
      consumer: Type.Optional(Text),
      after: Type.Optional(Type.String({ maxLength: 64, description: 'next of the page before.' })),
      limit: Type.Optional(PageLimit),
      messages: Type.Optional(
        Type.Integer({ minimum: 0, maximum: 1_000, default: 20, description: 'Messages named per claim, at most.' }),
      ),
    }),
    answers: {
      200: { says: 'A page', content: strict({ claims: Type.Array(Claim), next: nullable(Type.String()) }) },
    },
    async handle({ params: { topic }, query }) {
      return await context.topics.admin.claims(topic, query)
    },
  }),

  route({
    method: 'POST',
    path: `${CLAIMS}/:claim/release`,
    tag,
    name: 'releaseClaim',
    role: 'operate',
    summary: 'Gives a claim back at once, also one that never runs out',
    says: 'The attempt counts: what is out of attempts becomes a dead letter. Late settlements of its holder are stale.',
    params: ClaimParams,
    answers: {
      200: {
        says: 'Whose it was, how many messages are delivered again, and how many became dead letters',
        content: strict({
          topic: Type.String(),
          group: Type.String({ description: 'Empty in a queue.' }),
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
