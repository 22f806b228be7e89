import { Type } from 'typebox'
import { AUDIT_KINDS, OUTCOMES } from '../audit/entry.ts'
import { Count, nullable, strict, Time } from './common.ts'
import { share } from './shared.ts'

export const AuditEntrySchema = share(
  'AuditEntry',
  strict(
    {
      id: Count,
      at: Time,
      kind: Type.Enum([...AUDIT_KINDS], {
        description: 'change: of what is served. data: publishing and consuming. refusal: not let in, or not allowed.',
      }),
      outcome: Type.Enum([...OUTCOMES], { description: 'unknown: the client left before it was answered.' }),
      who: nullable(Type.String({ description: 'The name of a token, or of a user of the host application.' })),
      by: nullable(Type.String({ description: 'token, session, host or local.' })),
      from: Type.String({ description: 'The address.' }),
      action: nullable(Type.String({ description: 'The operation of this description.' })),
      method: nullable(Type.String()),
      path: nullable(Type.String()),
      topic: nullable(Type.String()),
      status: nullable(Type.Integer()),
      code: nullable(Type.String({ description: 'Of the problem.' })),
      count: Type.Integer({ minimum: 1, description: 'Refusals that this entry stands for.' }),
      input: Type.Optional(Type.Unknown({ description: 'What a change asked for; never a payload.' })),
    },
    { description: 'Who did what, from where, and how it ended.' },
  ),
)
