import { Type } from 'typebox'
import { nullable, strict } from './common.ts'
import { share } from './shared.ts'

export const ProblemSchema = share(
  'Problem',
  Type.Object(
    {
      type: Type.String({ description: 'URN built from the code.' }),
      title: Type.String(),
      status: Type.Integer(),
      detail: Type.String({ description: 'What happened, to what, and what to do.' }),
      code: Type.String({ description: 'Stable error code.', examples: ['TIDEMARK_STALE_DELIVERY'] }),
      errors: Type.Optional(
        Type.Array(Type.Object({ path: Type.String(), message: Type.String() }, { additionalProperties: false })),
      ),
      nearest: Type.Optional(
        strict(
          { before: nullable(Type.Integer()), after: nullable(Type.Integer()) },
          { description: 'Of a tick that is not indexed: the indexed ticks around it.' },
        ),
      ),
    },
    { additionalProperties: false, description: 'What went wrong (RFC 9457).' },
  ),
)
