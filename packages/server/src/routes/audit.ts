import { Type } from 'typebox'
import { AUDIT_KINDS, OUTCOMES } from '../audit/entry.ts'
import type { Context } from '../context.ts'
import { given, mapped, timeOf } from '../inputs.ts'
import { API, type Route, route } from '../route.ts'
import { AuditEntrySchema } from '../schemas/audit.ts'
import { Id, nullable, PageLimit, strict, Text, TimeGiven, TopicName } from '../schemas/common.ts'

export const auditRoutes = (context: Context): Route[] => [
  route({
    method: 'GET',
    path: `${API}/audit`,
    tag: 'server',
    name: 'audit',
    role: 'admin',
    summary: 'List changes and refusals with who, what, from where and the outcome, newest first',
    says: "Returns the newest few thousand entries of each kind. The server's audit file has all of them.",
    query: strict({
      kind: Type.Optional(Type.Enum([...AUDIT_KINDS])),
      outcome: Type.Optional(Type.Enum([...OUTCOMES])),
      who: Type.Optional(Text),
      action: Type.Optional(Text),
      topic: Type.Optional(TopicName),
      since: Type.Optional(TimeGiven),
      before: Type.Optional(Id),
      limit: Type.Optional(PageLimit),
    }),
    answers: {
      200: {
        says: "A page; 'next' is the value of 'before' for the next page",
        content: strict({ entries: Type.Array(AuditEntrySchema), next: nullable(Type.Integer()) }),
      },
    },
    async handle({ query: { limit = 100, since, ...query } }) {
      return context.audit.read({ ...query, ...given({ since: mapped(since, timeOf) }), limit } as never)
    },
  }),
]
