import type { FastifyRequest } from 'fastify'
import { hasBody } from '../bodies.ts'
import {
  BadRequestError,
  CrossSiteError,
  ForbiddenError,
  HostNotAllowedError,
  UnauthorizedError,
  UnsupportedMediaTypeError,
} from '../errors.ts'
import type { Settings } from '../options.ts'
import { hostNameOf, isLoopback, plain } from './addresses.ts'
import { Tokens } from './tokens.ts'

const READING = new Set(['GET', 'HEAD'])

/** What every request has to pass before anything else looks at it, unknown routes included. */
export class Guard {
  readonly #tokens: Tokens
  readonly #allowedHosts: ReadonlySet<string>

  constructor({ tokens, allowedHosts }: Pick<Settings, 'tokens' | 'allowedHosts'>) {
    this.#tokens = new Tokens(tokens)
    this.#allowedHosts = allowedHosts
  }

  check(request: FastifyRequest): void {
    this.#checkHost(request)
    const role = this.#tokens.roleOf(request.headers.authorization)
    if (role === undefined) throw new UnauthorizedError()
    if (READING.has(request.method)) {
      // Nobody reads it, so nobody would notice how long it takes to come.
      if (hasBody(request.headers)) throw new BadRequestError(`A ${request.method} takes no body`)
      return
    }
    if (role !== 'admin') throw new ForbiddenError(request.method)
    checkOrigin(request)
    checkContent(request)
  }

  /** A page of a stranger can make its own name point at this machine; it can't make a browser send another name. */
  #checkHost({ headers, socket }: FastifyRequest): void {
    const name = headers.host === undefined ? undefined : hostNameOf(headers.host)
    if (name !== undefined) {
      if (this.#allowedHosts.has(name) || name === plain(socket.localAddress ?? '')) return
      if (isLoopback(name) && isLoopback(plain(socket.localAddress ?? ''))) return
    }
    throw new HostNotAllowedError(headers.host)
  }
}

/** Browsers name the page that writes; programs name none. Only this server's own pages may. */
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

/** A form of a stranger's page can send the simple types; the parsers refuse the others that they don't know. */
function checkContent({ headers }: FastifyRequest): void {
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding !== 'identity') {
    throw new UnsupportedMediaTypeError(`Bodies are taken as they are, not with content-encoding '${encoding}'`)
  }
  const type = headers['content-type']?.split(';')[0]?.trim().toLowerCase()
  if (type !== undefined && SIMPLE_TYPES.has(type)) {
    throw new UnsupportedMediaTypeError(`'${type}' is not taken; send application/json`)
  }
}

const SIMPLE_TYPES = new Set(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data'])
