import {
  checkOptions,
  defaultLogger,
  type EncodedMetadata,
  type EncodedTick,
  type EnvironmentStrategy,
  type Outlet,
  type Pipeline,
  rule,
  runId,
  text,
  whole,
} from '@tidemark/pipeline'
import { ConfigError, type Logger, type Tidemark } from 'tidemark'
import { type GivenLimits, LIMITS, type Limits } from './limits.ts'
import { hostNameOf, isLoopback } from './security/addresses.ts'

/** Where ticks that are posted go: `{ ticks: pipeline.outlet('ticks'), metadata: pipeline.outlet('metadata') }`. */
export type IngestTarget = {
  readonly ticks: Outlet<EncodedTick>
  /** Without it a run's metadata has to come another way. */
  readonly metadata?: Outlet<EncodedMetadata>
  /** The one run whose ticks are taken. Default: any, one in each request. */
  readonly runId?: string
}

/** What is not given is not served: its routes answer 404 and say so. */
export type ServerOptions = {
  /** Default 127.0.0.1. Any address that others can reach needs a token. */
  readonly host?: string
  /** Default 4680; 0 picks a free one. */
  readonly port?: number
  /** `read` for looking, `admin` for everything. Without tokens everybody on this machine may do everything. */
  readonly tokens?: { readonly read?: string; readonly admin?: string }
  /** Names under which this server is reached, beside its own address and the loopback's. */
  readonly allowedHosts?: readonly string[]
  readonly topics?: Tidemark
  readonly pipeline?: Pipeline
  /** The address of the runs' indexes: `sqlite:<folder>` or `postgres://…`. */
  readonly indexes?: string
  /** Those that the runs' environment indexers have, or had, where they are your own (`loadEnvironmentStrategy`). */
  readonly environmentStrategy?: EnvironmentStrategy | readonly EnvironmentStrategy[]
  readonly ingest?: IngestTarget
  /** A pino logger, or anything of its shape. Default: warnings and errors to standard error. */
  readonly logger?: Logger
  readonly limits?: GivenLimits
}

export type Settings = {
  readonly host: string
  readonly port: number
  readonly tokens: { readonly read?: string; readonly admin?: string }
  readonly allowedHosts: ReadonlySet<string>
  readonly topics: Tidemark | undefined
  readonly pipeline: Pipeline | undefined
  readonly indexes: string | undefined
  readonly environmentStrategies: readonly EnvironmentStrategy[]
  readonly ingest: IngestTarget | undefined
  readonly logger: Logger
  readonly limits: Limits
}

const SHORTEST_TOKEN = 16
/** What a header can carry. */
const TOKEN = /^[A-Za-z0-9._~+/=-]+$/

const about = { says: '' }

const token = rule<string, object>(
  about,
  `a text of at least ${SHORTEST_TOKEN} letters, digits and -._~+/=`,
  (path, value) => {
    if (typeof value === 'string' && value.length >= SHORTEST_TOKEN && TOKEN.test(value)) return value
    throw new ConfigError(path, '(hidden)', `a text of at least ${SHORTEST_TOKEN} letters, digits and -._~+/=`)
  },
)

const hosts = rule<readonly string[], object>(about, 'an array of host names', (path, value) => {
  if (Array.isArray(value) && value.every(each => typeof each === 'string' && hostNameOf(each) === each.toLowerCase()))
    return value
  throw new ConfigError(path, value, "an array of host names without ports, such as ['tidemark.example.org']")
})

/** An object that another package has made; its type is the compiler's concern. */
const made = <T>(allowed: string, method: string) =>
  rule<T, object>(about, allowed, (path, value) => {
    if (typeof (value as Record<string, unknown> | null)?.[method] === 'function') return value as T
    throw new ConfigError(path, typeof value, allowed)
  })

const strategies = rule<readonly EnvironmentStrategy[], object>(about, 'environment strategies', (path, value) => {
  const strategy = made<EnvironmentStrategy>('an environment strategy', 'read')
  return [value].flat().map(each => strategy.check(path, each))
})

const TOKENS = { read: token, admin: token } as const

const OPTIONS = {
  host: text({ says: '', default: '127.0.0.1' }),
  port: whole({ says: '', min: 0, max: 65_535, default: 4680 }),
  tokens: rule(about, 'an object of tokens', (path, value) => checkOptions(path, value, TOKENS)),
  allowedHosts: hosts,
  topics: made<Tidemark>('an open Tidemark', 'publish'),
  pipeline: made<Pipeline>('a running pipeline', 'status'),
  indexes: text({ says: '', secret: true }),
  environmentStrategy: strategies,
  ingest: rule<IngestTarget, object>(about, '{ ticks: pipeline.outlet(…) }', (path, value) => checkIngest(path, value)),
  logger: made<Logger>('a pino logger', 'warn'),
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
  if (tokens.read !== undefined && tokens.read === tokens.admin) {
    throw new ConfigError('server.tokens', '(hidden)', 'two different tokens: who may read may not change')
  }
  const hasToken = tokens.read !== undefined || tokens.admin !== undefined
  if (!hasToken && !isLoopback(options.host)) {
    throw new ConfigError(
      'server.host',
      options.host,
      'without tokens only 127.0.0.1, ::1 or localhost. Give tokens.admin (and tokens.read) to be reached from elsewhere',
    )
  }
  return {
    host: options.host,
    port: options.port,
    tokens,
    allowedHosts: new Set(allowedHosts.map(host => host.toLowerCase())),
    topics: options.topics,
    pipeline: options.pipeline,
    indexes: options.indexes,
    environmentStrategies: options.environmentStrategy ?? [],
    ingest: options.ingest,
    logger,
    limits: limits ?? checkOptions('server.limits', {}, LIMITS),
  }
}

function checkIngest(path: string, value: unknown): IngestTarget {
  const run = runId({ says: '' })
  return checkOptions(path, value, { ticks: { ...outlet, required: true }, metadata: outlet, runId: run } as const)
}

const outlet = made<Outlet<never>>('an outlet: pipeline.outlet(…)', 'put')
