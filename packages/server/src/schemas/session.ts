import { Type } from 'typebox'
import { ROLES } from '../security/roles.ts'
import { nullable, strict, Time } from './common.ts'
import { share } from './shared.ts'

export const SessionSchema = share(
  'Session',
  strict(
    {
      name: Type.String({ description: 'The name of the token, or of the user of the host application.' }),
      by: Type.Enum(['local', 'token', 'session', 'host'], { description: 'local: this server has no tokens.' }),
      roles: Type.Array(
        strict({
          role: Type.Enum([...ROLES]),
          topics: nullable(Type.Array(Type.String(), { description: 'How the names of its topics begin; null: all.' })),
        }),
      ),
      expiresAt: nullable(Time),
      csrf: nullable(Type.String({ description: 'To be sent as X-CSRF-Token with each write that a cookie makes.' })),
    },
    { description: 'Who one is here, and what one may do.' },
  ),
)
