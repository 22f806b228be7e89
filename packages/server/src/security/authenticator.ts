import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { RateLimitError, UnauthorizedError } from '../errors.ts'
import { networkOf } from './addresses.ts'
import { cookieName, cookiesOf } from './cookies.ts'
import { type Identity, LOCAL } from './identity.ts'
import { WrongTokens } from './limiters.ts'
import { type GrantGiven, parseGrants } from './roles.ts'
import type { Sessions } from './sessions.ts'
import type { Token } from './token.ts'
import { bearerOf, type TokenCheck } from './token-check.ts'
import type { Visit } from './visit.ts'

/** A request, as passed to `authenticate`. */
export type AuthenticateRequest = {
  /** HTTP method. */
  readonly method: string
  /** Path and query. */
  readonly url: string
  /** Headers. */
  readonly headers: IncomingHttpHeaders
  /** Address of the client. */
  readonly address: string
}

/** An authenticated caller. */
export type Authenticated = {
  /** Name for the audit log. */
  readonly name: string
  /** Roles of the caller. */
  readonly roles: readonly GrantGiven[]
}

/** Your own authentication. Return null for an unknown caller; tokens and sessions are checked next. */
export type Authenticate = (
  request: AuthenticateRequest,
) => Authenticated | null | undefined | Promise<Authenticated | null | undefined>

type Parts = {
  readonly tokens: TokenCheck
  readonly sessions: Sessions
  readonly authenticate: Authenticate | undefined
  readonly isSecure: boolean
  readonly wrongPerMinute: number
}

/** Identifies callers: by the host application's login, a token, a session, or because they are on this machine. */
export class Authenticator {
  readonly #parts: Parts
  readonly #wrong: WrongTokens

  constructor(parts: Parts) {
    this.#parts = parts
    this.#wrong = new WrongTokens(parts.wrongPerMinute)
  }

  /** Whether everybody on this machine may do everything. */
  get isOpen(): boolean {
    return !this.#parts.tokens.areNeeded && this.#parts.authenticate === undefined
  }

  async identify(request: FastifyRequest, visit: Visit): Promise<Identity> {
    if (this.isOpen) return LOCAL
    const ofHost = await this.#askHost(request, visit)
    if (ofHost !== undefined) return ofHost
    const { authorization, cookie } = request.headers
    if (authorization !== undefined) return this.#parts.tokens.identityOf(this.login(bearerOf(authorization), visit))
    const ofSession = await this.#session(request, cookie, visit)
    if (ofSession !== undefined) return ofSession
    throw new UnauthorizedError()
  }

  /** The token that was given; counts wrong ones. */
  login(given: string | undefined, { address }: Visit): Token {
    const from = networkOf(address)
    const token = given === undefined ? undefined : this.#parts.tokens.find(given)
    if (this.#wrong.isBlocked(from) && !(token && this.#wrong.wasRight(from, token.name))) {
      throw new RateLimitError('Too many wrong tokens from this address', this.#wrong.secondsLeft(from))
    }
    if (token === undefined) {
      this.#wrong.wrong(from)
      throw new UnauthorizedError()
    }
    this.#wrong.right(from, token.name)
    return token
  }

  /** Resets the count of wrong tokens. */
  forgive(): void {
    this.#wrong.forget()
  }

  async #askHost({ method, url, headers }: FastifyRequest, { address }: Visit): Promise<Identity | undefined> {
    const found = await this.#parts.authenticate?.({ method, url, headers, address })
    if (found === undefined || found === null) return undefined
    const { name, roles } = found
    return {
      name: String(name),
      by: 'host',
      grants: parseGrants('authenticate.roles', roles),
      expiresAt: null,
      isValid,
    }
  }

  async #session({ socket }: FastifyRequest, header: string | undefined, visit: Visit): Promise<Identity | undefined> {
    const { sessions, tokens, isSecure } = this.#parts
    if (!tokens.areNeeded) return undefined
    for (const value of cookiesOf(header, cookieName({ port: socket.localPort ?? 0, isSecure }))) {
      const session = await sessions.read(value)
      if (session === undefined) continue
      visit.session = session
      return session.identity
    }
    return undefined
  }
}

/** The host application decides about each request. */
const isValid = (): boolean => true
