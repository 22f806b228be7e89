import { EVERYTHING, type Grant, mayDo, mayDoSome, type Role } from './roles.ts'

/** How somebody was recognised. local: the server has no tokens, and takes everybody on this machine. */
type Recognised = 'local' | 'token' | 'session' | 'host'

/** Who makes a request. */
export type Identity = {
  readonly name: string
  readonly by: Recognised
  readonly grants: readonly Grant[]
  readonly expiresAt: number | null
  /** What a write with the cookie of a session has to send along. */
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

/** The role is limited to some topics, so that what is not of a topic is to be filtered. */
export const isLimited = ({ grants }: Identity, role: Role): boolean => mayDoSome(grants, role) && !mayDo(grants, role)
