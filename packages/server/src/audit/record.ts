import type { FastifyReply, FastifyRequest } from 'fastify'
import type { RouteConfig } from '../route.ts'
import { visitOf } from '../security/visit.ts'
import type { Audit } from './audit.ts'
import type { NewEntry, Outcome } from './entry.ts'

const READING = new Set(['GET', 'HEAD', 'OPTIONS'])
const REFUSED = new Set([401, 403, 429])
const LONGEST_PATH = 300
const LONGEST_INPUT = 2_000

/** Call it when the request arrives: the entry is written when the answer was sent, or the connection is gone. */
export function recordAnswer(audit: Audit, request: FastifyRequest, reply: FastifyReply): void {
  let isRecorded = false
  const record = (): void => {
    const entry = isRecorded ? undefined : entryOf(request, reply)
    isRecorded = true
    if (entry !== undefined) audit.add(entry)
  }
  reply.raw.once('finish', record)
  reply.raw.once('close', record)
}

/** Reads are not recorded. */
function entryOf(request: FastifyRequest, reply: FastifyReply): NewEntry | undefined {
  const { method } = request
  const { identity, address, topic: ofVisit, refusal, problem } = visitOf(request)
  const { access, operation } = (request.routeOptions?.config ?? {}) as RouteConfig
  const isAnswered = reply.raw.writableFinished
  const status = isAnswered ? reply.statusCode : null
  const isRefused = refusal !== undefined || (status !== null && REFUSED.has(status))
  if (!isRefused && (READING.has(method) || access === undefined)) return undefined
  const isData = access === 'publish' || access === 'consume'
  const { topic } = (request.params ?? {}) as { readonly topic?: string }
  const input = isRefused || isData || access === 'open' ? undefined : inputOf(request.body)
  return {
    kind: isRefused ? 'refusal' : isData ? 'data' : 'change',
    outcome: isRefused ? 'refused' : outcomeOf(status),
    who: identity?.name ?? null,
    by: identity?.by ?? null,
    from: address,
    action: operation ?? null,
    method,
    path: shownPath(request.originalUrl),
    topic: topic ?? ofVisit ?? null,
    status,
    code: refusal ?? problem ?? null,
    ...(input !== undefined && { input }),
  }
}

/** Without the query, and without a password in front of the host. */
const shownPath = (target: string): string | null =>
  target
    .split('?')[0]
    ?.replace(/^([a-z]+:\/\/)[^/]*@/i, '$1')
    .slice(0, LONGEST_PATH) ?? null

/** For requests that reached no route: not HTTP at all, or not supported by this server. */
export const unroutedEntry = (from: string, status: number): NewEntry => ({
  kind: 'refusal',
  outcome: 'refused',
  who: null,
  by: null,
  from,
  action: null,
  method: null,
  path: null,
  topic: null,
  status,
  code: 'TIDEMARK_BAD_REQUEST',
})

function outcomeOf(status: number | null): Outcome {
  if (status === null) return 'unknown'
  return status < 400 ? 'done' : 'failed'
}

function inputOf(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || Object.keys(body).length === 0) return undefined
  const text = JSON.stringify(body)
  return text.length > LONGEST_INPUT ? `${text.slice(0, LONGEST_INPUT)}…` : body
}
