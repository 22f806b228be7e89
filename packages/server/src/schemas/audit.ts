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
        description:
          'change: a change of state, such as a deleted topic or a stopped service. data: publishing and consuming. refusal: a request was not authenticated or not authorized.',
      }),
      outcome: Type.Enum([...OUTCOMES], { description: 'unknown: the client disconnected before the response.' }),
      who: nullable(Type.String({ description: 'The name of a token, or of a user of the host application.' })),
      by: nullable(Type.String({ description: 'token, session, host or local.' })),
      from: Type.String({ description: 'The address.' }),
      action: nullable(Type.String({ description: 'Operation id, as in this API description.' })),
      method: nullable(Type.String()),
      path: nullable(Type.String()),
      topic: nullable(Type.String()),
      status: nullable(Type.Integer()),
      code: nullable(Type.String({ description: 'Error code of the problem.' })),
      count: Type.Integer({ minimum: 1, description: 'Number of refusals that this entry sums up.' }),
      input: Type.Optional(Type.Unknown({ description: 'Parameters of the request, never a payload.' })),
    },
    { description: 'One entry of the audit log: who did what, from where, and the outcome.' },
  ),
)
