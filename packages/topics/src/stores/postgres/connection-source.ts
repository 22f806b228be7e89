import type pg from 'pg'
import { ConfigError } from '../../errors.ts'
import type { Logger } from '../../observe/logger.ts'
import type { Connections } from './connections.ts'
import type { PostgresDriver } from './driver.ts'
import { DriverConnections } from './driver-connections.ts'
import { loadPg } from './load-pg.ts'
import { OwnConnections } from './own-connections.ts'
import type { ClientFactory } from './session.ts'

/** What Node's `tls.connect` takes, or true for its defaults. */
export type SslOptions = boolean | object

/**
 * Where connections come from: a URL, optionally with a client factory or TLS options, or the program's own
 * connections.
 */
export type ConnectionSource =
  | { readonly url: string; readonly client?: ClientFactory | undefined; readonly ssl?: SslOptions | undefined }
  | { readonly driver: PostgresDriver }

export type ConnectionSettings = {
  readonly poolSize: number
  readonly applicationName: string
  readonly statementTimeoutMs: number
  /** The schema of functions used in statements. */
  readonly functions: string
  readonly logger: Logger
}

/** The kernel probes a silent peer; a proxy that goes silent is only detected by the deadlines. */
const KEEP_ALIVE_MS = 10_000

export async function connectTo(source: ConnectionSource, settings: ConnectionSettings): Promise<Connections> {
  const { poolSize, applicationName, statementTimeoutMs, functions, logger } = settings
  if ('driver' in source) return new DriverConnections(source.driver, { functions, connectMs: statementTimeoutMs })
  const { Client } = await loadPg()
  const config = {
    connectionString: source.url,
    application_name: applicationName,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    connectionTimeoutMillis: statementTimeoutMs,
    ...(source.ssl !== undefined && { ssl: source.ssl }),
  }
  return new OwnConnections({
    client: source.client ?? (() => new Client(config)),
    location: locationOf(Client, config),
    poolSize,
    statementTimeoutMs,
    onIdleError: error => logger.debug({ err: error }, 'an idle database connection broke'),
  })
}

function locationOf(Client: typeof pg.Client, config: pg.ClientConfig): string {
  try {
    const { host, port, database } = new Client(config)
    return `${host}:${port}/${database ?? ''}`
  } catch {
    // The driver's error quotes the address including the password.
    throw new ConfigError('url', '(hidden)', 'postgres://user:password@host:port/database')
  }
}
