import { ConfigError } from 'tidemark'

/** Roles. `admin` may do everything; `operate` includes `read`, and `read` includes `metrics`. */
export const ROLES = ['read', 'metrics', 'publish', 'consume', 'operate', 'admin'] as const
/** One of the roles. */
export type Role = (typeof ROLES)[number]

/** The access that a route requires. any: every known caller; open: everybody. */
export type Access = Role | 'any' | 'open'

/** A role for all topics, or for those with a name prefix. */
export type Grant = {
  /** The role. */
  readonly role: Role
  /** Prefixes of topic names; null: all topics. */
  readonly topics: readonly string[] | null
}

/** A role such as 'read', a role for topics with a prefix such as 'publish:orders.', or the same as an object. */
export type GrantGiven = string | { readonly role: Role; readonly topics?: readonly string[] }

/** Which roles include a role. */
const GIVEN_BY: { readonly [role in Role]: readonly Role[] } = {
  read: ['read', 'operate', 'admin'],
  metrics: ['metrics', 'read', 'operate', 'admin'],
  publish: ['publish', 'admin'],
  consume: ['consume', 'admin'],
  operate: ['operate', 'admin'],
  admin: ['admin'],
}

const PREFIX = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/
const ALLOWED = `roles (${ROLES.join(', ')}), each alone or with the beginning of topic names: 'publish:orders.'`

export const EVERYTHING: readonly Grant[] = [{ role: 'admin', topics: null }]

/** For a topic; without one, for what does not belong to a single topic, which requires an unlimited role. */
export const mayDo = (grants: readonly Grant[], role: Role, topic?: string): boolean =>
  holders(grants, role).some(({ topics }) => topics === null || (topic !== undefined && isUnder(topics, topic)))

/** For some topics at least. */
export const mayDoSome = (grants: readonly Grant[], role: Role): boolean => holders(grants, role).length > 0

const holders = (grants: readonly Grant[], role: Role): readonly Grant[] =>
  grants.filter(grant => GIVEN_BY[role].includes(grant.role))

/** Compared like names in the store: case matters, and nothing is decoded a second time. */
const isUnder = (prefixes: readonly string[], topic: string): boolean => prefixes.some(each => topic.startsWith(each))

/**
 * Parses roles. Throws a `ConfigError` that names the invalid one.
 *
 * @example
 * const grants = parseGrants('roles', ['read', 'publish:orders.'])
 */
export function parseGrants(path: string, given: unknown): readonly Grant[] {
  if (!Array.isArray(given) || given.length === 0) throw new ConfigError(path, given, `a list of ${ALLOWED}`)
  return given.map(each => parseGrant(path, each))
}

function parseGrant(path: string, given: unknown): Grant {
  const { role, topics } =
    typeof given === 'string' ? split(given) : ((given ?? {}) as { role?: unknown; topics?: unknown })
  if (!ROLES.includes(role as Role)) throw new ConfigError(path, given, ALLOWED)
  if (topics === undefined || topics === null) return { role: role as Role, topics: null }
  if (!Array.isArray(topics) || topics.length === 0) throw new ConfigError(path, given, ALLOWED)
  return { role: role as Role, topics: topics.map(topic => prefixOf(path, topic)) }
}

/** 'publish:orders.*' is the same as 'publish:orders.'; names contain no asterisk. */
function prefixOf(path: string, given: unknown): string {
  const prefix = typeof given === 'string' ? given.replace(/\*$/, '') : ''
  if (!PREFIX.test(prefix)) throw new ConfigError(path, given, ALLOWED)
  return prefix
}

function split(text: string): { role: string; topics?: string[] } {
  const [role = '', ...rest] = text.split(':')
  return rest.length === 0 ? { role } : { role, topics: [rest.join(':')] }
}

export const grantText = ({ role, topics }: Grant): string[] =>
  topics === null ? [role] : topics.map(prefix => `${role}:${prefix}`)
