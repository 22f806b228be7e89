import { timingSafeEqual } from 'node:crypto'
import type { BlockList } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { hasBody } from '../bodies.ts'
import {
  BadRequestError,
  CrossSiteError,
  ForbiddenError,
  ForwardedError,
  HostNotAllowedError,
  UnsupportedMediaTypeError,
} from '../errors.ts'
import type { RouteConfig } from '../route.ts'
import { hostNameOf, isLoopback, networkOf, plain } from './addresses.ts'
import type { Authenticator } from './authenticator.ts'
import { clientAddress, forwardingHeader } from './client-address.ts'
import { setCookie } from './cookies.ts'
import type { Identity } from './identity.ts'
import { RequestRate, RequestsAtOnce } from './limiters.ts'
import type { OpenRequests } from './open-requests.ts'
import { checkTarget } from './request-target.ts'
import { mayDo, mayDoSome } from './roles.ts'
import type { Sessions } from './sessions.ts'
import { beginVisit, type Visit } from './visit.ts'

const READING = new Set(['GET', 'HEAD'])

type Parts = {
  readonly authenticator: Authenticator
  readonly sessions: Sessions
  readonly openRequests: OpenRequests
  readonly allowedHosts: ReadonlySet<string>
  readonly trustedProxies: BlockList
  readonly isSecure: boolean
  readonly limits: { readonly requestsPerSecond: number; readonly requestsAtOnce: number }
}

/** What every request has to pass first, including requests to unknown routes. */
export class Guard {
  readonly #parts: Parts
  readonly #rate: RequestRate
  readonly #atOnce: RequestsAtOnce

  constructor(parts: Parts) {
    this.#parts = parts
    this.#rate = new RequestRate(parts.limits.requestsPerSecond)
    this.#atOnce = new RequestsAtOnce(parts.limits.requestsAtOnce)
  }

  async check(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const visit = beginVisit(request, clientAddress(request.raw, this.#parts.trustedProxies))
    try {
      await this.#check(request, reply, visit)
    } catch (error) {
      visit.refusal = (error as { code?: string }).code ?? 'TIDEMARK_INTERNAL'
      throw error
    }
  }

  async #check(request: FastifyRequest, reply: FastifyReply, visit: Visit): Promise<void> {
    checkTarget(request.originalUrl, request.raw)
    this.#checkHost(request)
    this.#checkForwarding(request)
    this.#count(reply, `address ${networkOf(visit.address)}`)
    // An invalid URL has no route, and no route options.
    const { access, scope } = (request.routeOptions?.config ?? {}) as RouteConfig
    if (access !== 'open') {
      const identity = await this.#parts.authenticator.identify(request, visit)
      visit.identity = identity
      if (identity.by !== 'local') this.#count(reply, `${identity.by} ${identity.name}`)
      this.#parts.openRequests.add(reply.raw, identity)
      checkRole(identity, request, access, scope)
      if (identity.by === 'session') await this.#checkSession(request, reply, visit)
    }
    if (READING.has(request.method)) {
      // Nobody reads it, so nobody would notice how long it takes to arrive.
      if (hasBody(request.headers)) throw new BadRequestError(`${request.method} requests must not have a body`)
      return
    }
    checkOrigin(request)
    checkContent(request)
  }

  /**
   * DNS rebinding: a foreign page can make its own name point to this machine, but can't make a browser send another
   * name.
   */
  #checkHost({ headers, socket }: FastifyRequest): void {
    const name = headers.host === undefined ? undefined : hostNameOf(headers.host)
    if (name !== undefined) {
      if (this.#parts.allowedHosts.has(name) || name === plain(socket.localAddress ?? '')) return
      if (isLoopback(name) && isLoopback(plain(socket.localAddress ?? ''))) return
    }
    throw new HostNotAllowedError(headers.host)
  }

  /** A proxy on this machine would make everybody look like a local user. */
  #checkForwarding({ raw }: FastifyRequest): void {
    const header = this.#parts.authenticator.isOpen ? forwardingHeader(raw) : undefined
    if (header !== undefined) throw new ForwardedError(header)
  }

  #count({ raw }: FastifyReply, key: string): void {
    this.#rate.take(key)
    raw.once('close', this.#atOnce.enter(key))
  }

  /**
   * A browser sends the cookie by itself, also for pages on other ports of this host, which SameSite does not
   * distinguish. Reads are refused if the browser says so; writes have to come from our own page and include the
   * session's CSRF token.
   */
  async #checkSession(request: FastifyRequest, reply: FastifyReply, { session, identity }: Visit): Promise<void> {
    const { headers, method, socket } = request
    const site = headers['sec-fetch-site']
    if (site !== undefined && site !== 'same-origin' && site !== 'none') throw new CrossSiteError(String(site))
    if (!READING.has(method)) {
      if (headers.origin === undefined) throw new CrossSiteError('no Origin')
      if (!isSame(String(headers['x-csrf-token'] ?? ''), identity?.csrf ?? ''))
        throw new CrossSiteError('no CSRF token')
    }
    const renewed = session && (await this.#parts.sessions.renewed(session))
    if (renewed === undefined) return
    const kind = { port: socket.localPort ?? 0, isSecure: this.#parts.isSecure }
    reply.header('set-cookie', setCookie(kind, renewed.value, renewed.session.expiresAt))
  }
}

function checkRole(
  identity: Identity,
  { params }: FastifyRequest,
  access: RouteConfig['access'],
  scope: RouteConfig['scope'],
): void {
  if (access === undefined || access === 'any' || access === 'open') return
  const { topic } = params as { readonly topic?: string }
  const ofTopic = scope === 'topic' ? topic : undefined
  const mayPass = scope === 'some' ? mayDoSome(identity.grants, access) : mayDo(identity.grants, access, ofTopic)
  if (!mayPass) throw new ForbiddenError(identity.name, access, ofTopic)
}

function isSame(given: string, expected: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(expected)]
  return expected !== '' && one.length === other.length && timingSafeEqual(one, other)
}

/** Browsers send the origin of the page that writes; programs send none. Only this server's own pages may write. */
function checkOrigin({ headers }: FastifyRequest): void {
  const { origin, host } = headers
  const site = headers['sec-fetch-site']
  if (origin !== undefined && originHost(origin) !== host?.toLowerCase()) throw new CrossSiteError(origin)
  if (site !== undefined && site !== 'same-origin' && site !== 'none') throw new CrossSiteError(String(site))
}

function originHost(origin: string): string | undefined {
  const url = URL.parse(origin)
  return url !== null && /^https?:$/.test(url.protocol) ? url.host : undefined
}

/** A form on a foreign page can send the simple content types; the parsers refuse others that they don't know. */
function checkContent({ headers }: FastifyRequest): void {
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding !== 'identity') {
    throw new UnsupportedMediaTypeError(`Content-Encoding '${encoding}' is not supported. Send the body uncompressed`)
  }
  const type = headers['content-type']?.split(';')[0]?.trim().toLowerCase()
  if (type !== undefined && SIMPLE_TYPES.has(type)) {
    throw new UnsupportedMediaTypeError(`Content-Type '${type}' is not supported. Send application/json`)
  }
}

const SIMPLE_TYPES = new Set(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data'])
