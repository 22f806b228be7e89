import type { BlockList } from 'node:net'
import {
  checkOptions,
  defaultLogger,
  type EncodedMetadata,
  type EncodedTick,
  type EnvironmentStrategy,
  flag,
  type Outlet,
  type Pipeline,
  rule,
  runId,
  text,
  whole,
} from '@tidemark/pipeline'
import { ConfigError, type Logger, type Tidemark } from 'tidemark'
import type { AuditOptions } from './audit/audit.ts'
import { type GivenLimits, LIMITS, type Limits } from './limits.ts'
import { hostNameOf, isLoopback, parseNetworks } from './security/addresses.ts'
import type { Authenticate } from './security/authenticator.ts'
import { ROLES, type Role } from './security/roles.ts'
import type { TlsFiles } from './security/tls.ts'
import { hashOf, refuseTwins, type Token } from './security/token.ts'
import { TokenFile } from './security/token-file.ts'
import { checkTokenStrength } from './security/token-strength.ts'

/** Where posted ticks go, such as `{ ticks: pipeline.outlet('ticks'), metadata: pipeline.outlet('metadata') }`. */
export type IngestTarget = {
  /** Queue of ticks. */
  readonly ticks: Outlet<EncodedTick>
  /** Queue of metadata. Without it, metadata can't be posted. */
  readonly metadata?: Outlet<EncodedMetadata>
  /** The only run whose ticks are accepted (default: any, one per request). */
  readonly runId?: string
}

/** Options of `startServer`. Routes of parts that are not given answer 404 with the reason. */
export type ServerOptions = {
  /** Address to listen on (default 127.0.0.1). Addresses that other machines can reach require a token. */
  readonly host?: string
  /** Port to listen on (default 4680); 0 picks a free one. */
  readonly port?: number
  /**
   * One token per role, such as `{ admin: '…' }`. Without tokens, token file and `authenticate`, every user of this
   * machine has full access.
   */
  readonly tokens?: { readonly [role in Role]?: string }
  /**
   * File of hashed tokens with names, roles and expiry, written by 'tidemark token create'. It is reloaded when it
   * changes.
   */
  readonly tokenFile?: string
  /** Authentication of your application. It is called first, for every request. */
  readonly authenticate?: Authenticate
  /** Addresses or networks of proxies whose X-Forwarded-For is trusted. */
  readonly trustedProxies?: readonly string[]
  /** Certificate and key, files in PEM. They are reloaded when they change. */
  readonly tls?: TlsFiles
  /**
   * Whether cookies are sent over TLS only (default: true with `tls`). Set it to true behind a proxy that terminates
   * TLS.
   */
  readonly secureCookies?: boolean
  /** File for every change and every refusal, one JSON line each, private to its user (default: the log). */
  readonly auditFile?: string
  /** Host names of this server besides its own address and the loopback address. */
  readonly allowedHosts?: readonly string[]
  /** Open Tidemark to serve. */
  readonly topics?: Tidemark
  /** Pipeline to serve. */
  readonly pipeline?: Pipeline
  /** Address of the run indexes: `sqlite:<folder>` or `postgres://…`. */
  readonly indexes?: string
  /** Your own strategies that wrote cells of the runs (`loadEnvironmentStrategy`). */
  readonly environmentStrategy?: EnvironmentStrategy | readonly EnvironmentStrategy[]
  /** Where posted ticks go. */
  readonly ingest?: IngestTarget
  /** Logger (default: warnings and errors to standard error). */
  readonly logger?: Logger
  /** Limits of the server. */
  readonly limits?: GivenLimits
  /** Whether the web page is served. Default true. */
  readonly page?: boolean
}

export type Settings = {
  readonly host: string
  readonly port: number
  readonly tokens: readonly Token[]
  readonly tokenFile: TokenFile | undefined
  readonly authenticate: Authenticate | undefined
  readonly trustedProxies: BlockList
  readonly tls: TlsFiles | undefined
  readonly secureCookies: boolean
  readonly audit: AuditOptions | undefined
  readonly allowedHosts: ReadonlySet<string>
  readonly topics: Tidemark | undefined
  readonly pipeline: Pipeline | undefined
  readonly indexes: string | undefined
  readonly environmentStrategies: readonly EnvironmentStrategy[]
  readonly ingest: IngestTarget | undefined
  readonly logger: Logger
  readonly page: boolean
  readonly limits: Limits
}

/** Size at which the file is rotated; four older ones are kept. */
const AUDIT_BYTES = 64 * 1024 * 1024

const about = { says: '' }

const token = rule<string, object>(about, 'a strong token', checkTokenStrength)

const hosts = rule<readonly string[], object>(about, 'an array of host names', (path, value) => {
  if (Array.isArray(value) && value.every(each => typeof each === 'string' && hostNameOf(each) === each.toLowerCase()))
    return value
  throw new ConfigError(path, value, "an array of host names without ports, such as ['tidemark.example.org']")
})

/** An object created by another package; the compiler checks its type. */
const made = <T>(allowed: string, method: string) =>
  rule<T, object>(about, allowed, (path, value) => {
    if (typeof (value as Record<string, unknown> | null)?.[method] === 'function') return value as T
    throw new ConfigError(path, typeof value, allowed)
  })

const strategies = rule<readonly EnvironmentStrategy[], object>(about, 'environment strategies', (path, value) => {
  const strategy = made<EnvironmentStrategy>('an environment strategy', 'read')
  return [value].flat().map(each => strategy.check(path, each))
})

const TOKENS = { read: token, metrics: token, publish: token, consume: token, operate: token, admin: token } as const

const path = text({ says: '', allowed: 'the path of a file' })

const networks = rule<readonly string[], object>(about, 'an array of addresses and networks', (place, value) => {
  if (!Array.isArray(value) || !value.every(each => typeof each === 'string')) {
    throw new ConfigError(place, value, "an array of addresses and networks, such as ['10.0.0.0/8']")
  }
  parseNetworks(place, value)
  return value
})

const OPTIONS = {
  host: text({ says: '', default: '127.0.0.1' }),
  port: whole({ says: '', min: 0, max: 65_535, default: 4680 }),
  tokens: rule(about, 'an object of tokens', (path, value) => checkOptions(path, value, TOKENS)),
  tokenFile: path,
  authenticate: rule<Authenticate, object>(about, 'a function', (place, value) => {
    if (typeof value !== 'function') throw new ConfigError(place, typeof value, 'a function that is given a request')
    return value as Authenticate
  }),
  trustedProxies: networks,
  tls: rule(about, '{ cert, key }', (place, value) =>
    checkOptions(place, value, { cert: { ...path, required: true }, key: { ...path, required: true } } as const),
  ),
  secureCookies: flag({ says: '' }),
  auditFile: path,
  allowedHosts: hosts,
  topics: made<Tidemark>('an open Tidemark', 'publish'),
  pipeline: made<Pipeline>('a running pipeline', 'status'),
  indexes: text({ says: '', secret: true }),
  environmentStrategy: strategies,
  ingest: rule<IngestTarget, object>(about, '{ ticks: pipeline.outlet(…) }', (path, value) => checkIngest(path, value)),
  logger: made<Logger>('a pino logger', 'warn'),
  page: flag({ says: '' }),
  limits: rule(about, 'an object of limits', (path, value) => checkOptions(path, value, LIMITS)),
} as const

export function checkServerOptions(given: ServerOptions): Settings {
  const {
    logger = defaultLogger(),
    tokens = {},
    limits,
    allowedHosts = [],
    ...options
  } = checkOptions('server', given, OPTIONS)
  const fixed = fixedTokens(tokens)
  const tokenFile = options.tokenFile === undefined ? undefined : new TokenFile(options.tokenFile, logger, fixed)
  const isOpen = fixed.length === 0 && tokenFile === undefined && options.authenticate === undefined
  if (isOpen && !isLoopback(options.host)) {
    throw new ConfigError(
      'server.host',
      options.host,
      'without tokens only 127.0.0.1, ::1 or localhost. Give tokens.admin, tokenFile or authenticate to be reached from elsewhere',
    )
  }
  return {
    host: options.host,
    port: options.port,
    tokens: fixed,
    tokenFile,
    authenticate: options.authenticate,
    trustedProxies: parseNetworks('server.trustedProxies', options.trustedProxies ?? []),
    tls: options.tls,
    secureCookies: options.secureCookies ?? false,
    audit: options.auditFile === undefined ? undefined : { file: options.auditFile, maxBytes: AUDIT_BYTES },
    allowedHosts: new Set(allowedHosts.map(host => host.toLowerCase())),
    topics: options.topics,
    pipeline: options.pipeline,
    indexes: options.indexes,
    environmentStrategies: options.environmentStrategy ?? [],
    ingest: options.ingest,
    logger,
    page: options.page ?? true,
    limits: limits ?? checkOptions('server.limits', {}, LIMITS),
  }
}

/** Named after their roles. */
function fixedTokens(tokens: { readonly [role in Role]?: string }): readonly Token[] {
  const fixed = ROLES.flatMap((role): Token[] => {
    const given = tokens[role]
    return given === undefined
      ? []
      : [{ name: role, hash: hashOf(given), grants: [{ role, topics: null }], expiresAt: null }]
  })
  refuseTwins(fixed)
  if (Object.keys(tokens).length > 0 && fixed.length === 0) {
    throw new ConfigError('server.tokens', '(empty)', `a token for at least one of ${ROLES.join(', ')}`)
  }
  return fixed
}

function checkIngest(path: string, value: unknown): IngestTarget {
  const run = runId({ says: '' })
  return checkOptions(path, value, { ticks: { ...outlet, required: true }, metadata: outlet, runId: run } as const)
}

const outlet = made<Outlet<never>>('an outlet: pipeline.outlet(…)', 'put')
