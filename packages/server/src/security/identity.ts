import { EVERYTHING, type Grant, mayDo, mayDoSome, type Role } from './roles.ts'

/** How a caller was recognised. local: the server has no tokens, and accepts everybody on this machine. */
type Recognised = 'local' | 'token' | 'session' | 'host'

/** The caller of a request. */
export type Identity = {
  readonly name: string
  readonly by: Recognised
  readonly grants: readonly Grant[]
  readonly expiresAt: number | null
  /** What a write with a session cookie has to include. */
  readonly csrf?: string
  /** Tokens are revoked and expire while streams are open. */
  isValid(): boolean
}

export const LOCAL: Identity = {
  name: 'local',
  by: 'local',
  grants: EVERYTHING,
  expiresAt: null,
  isValid: () => true,
}

export const sees = ({ grants }: Identity, role: Role, topic: string): boolean => mayDo(grants, role, topic)

/** The role is limited to some topics, so what does not belong to a topic has to be filtered. */
export const isLimited = ({ grants }: Identity, role: Role): boolean => mayDoSome(grants, role) && !mayDo(grants, role)
