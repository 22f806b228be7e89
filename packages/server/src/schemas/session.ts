import { Type } from 'typebox'
import { ROLES } from '../security/roles.ts'
import { nullable, strict, Time } from './common.ts'
import { share } from './shared.ts'

export const Grants = Type.Array(
  strict({
    role: Type.Enum([...ROLES]),
    topics: nullable(
      Type.Array(Type.String(), {
        description: 'Name prefix of the topics that the role applies to; null: all topics.',
      }),
    ),
  }),
)

export const SessionSchema = share(
  'Session',
  strict(
    {
      name: Type.String({ description: 'The name of the token, or of the user of the host application.' }),
      by: Type.Enum(['local', 'token', 'session', 'host'], { description: 'local: this server has no tokens.' }),
      roles: Grants,
      expiresAt: nullable(Time),
      csrf: nullable(
        Type.String({ description: 'Value of the X-CSRF-Token header, required for writes with the session cookie.' }),
      ),
    },
    { description: 'Identity and permissions of the caller.' },
  ),
)
