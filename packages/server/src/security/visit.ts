import type { IncomingMessage } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { ForbiddenError } from '../errors.ts'
import { type Identity, LOCAL } from './identity.ts'
import { mayDo, type Role } from './roles.ts'
import type { Session } from './sessions.ts'

/** What is known about one request. */
export type Visit = {
  readonly address: string
  identity?: Identity
  session?: Session
  /** Topic of a request whose path names none. */
  topic?: string
  /** The code with which it was refused. */
  refusal?: string
  /** The code of the problem that was returned. */
  problem?: string
}

const visits = new WeakMap<IncomingMessage, Visit>()

export const visitOf = ({ raw }: Pick<FastifyRequest, 'raw'>): Visit => {
  const known = visits.get(raw) ?? { address: raw.socket.remoteAddress ?? '' }
  visits.set(raw, known)
  return known
}

export function beginVisit({ raw }: Pick<FastifyRequest, 'raw'>, address: string): Visit {
  const visit = { address }
  visits.set(raw, visit)
  return visit
}

/** The caller of a route; the guard has already refused unknown callers. */
export const identityOf = (request: Pick<FastifyRequest, 'raw'>): Identity => visitOf(request).identity ?? LOCAL

/** For topics that only the body names. */
export function requireTopic(request: Pick<FastifyRequest, 'raw'>, role: Role, topic: string): void {
  const identity = identityOf(request)
  if (!mayDo(identity.grants, role, topic)) throw new ForbiddenError(identity.name, role, topic)
}
