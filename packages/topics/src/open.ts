import type { Registry } from '@bufbuild/protobuf'
import { type Address, parseAddress } from './address.ts'
import type { Duration } from './duration.ts'
import { defaultLogger, isLogger, type Logger, safeLogger } from './logger.ts'
import { type MaintenanceOptions, type MaintenancePreset, parseMaintenance } from './maintenance/presets.ts'
import { Options } from './options.ts'
import { Codec } from './payload/codec.ts'
import { openPostgres } from './stores/postgres/store.ts'
import { openSqlite } from './stores/sqlite/store.ts'
import type { Store } from './stores/store.ts'
import { Tidemark } from './tidemark.ts'
import type { AutoCreate } from './topic-registry.ts'

export type OpenOptions = {
  /** A complete, isolated set of topics: a PostgreSQL schema, or a SQLite file of its own. */
  namespace?: string
  /**
   * Topics that don't exist are made, as queues, by the first publish (default); true: by consumers too; false: only through
   * configureTopic().
   */
  autoCreate?: boolean
  /** Protobuf schemas: `createRegistry(BatchInfoSchema, …)` of @bufbuild/protobuf. */
  registry?: Registry
  /** A pino logger, or anything of its shape. Default: warnings and errors to standard error. */
  logger?: Logger
  /** How long a consumer waits before it looks by itself, whatever wake-ups say. */
  sweepInterval?: Duration
  /** Memory per topic for rows that several groups of this process read. */
  rowCacheBytes?: number
  /** SQLite. `full`: a publish survives a power failure. `process`: it survives the process, and is faster. */
  durability?: 'full' | 'process'
  /** SQLite: how long a write waits for other processes' writes. */
  busyTimeout?: Duration
  /** PostgreSQL: connections of the pool; one more listens, and one sends heartbeats. */
  poolSize?: number
  /**
   * PostgreSQL: how long a connection attempt, or a statement of publishing, consuming or looking, may take. A connection
   * that has not answered by then is thrown away. Maintenance has longer limits of its own.
   */
  statementTimeout?: Duration
  /** Looking for dead groups and cleaning up, in the background of one process at a time; false: only on demand. */
  maintenance?: MaintenancePreset | MaintenanceOptions | false
}

/**
 * Opens a namespace of topics, and creates or upgrades its tables.
 *
 *     await open('sqlite:./data/app.db')
 *     await open('sqlite::memory:')
 *     await open('postgres://user@host/database', { namespace: 'run-7' })
 */
export async function open(url: string, given?: OpenOptions): Promise<Tidemark> {
  const options = new Options('open', given)
  const address = parseAddress('open.url', url, options.value('namespace'))
  const { namespace } = address
  const registry = options.object<Registry>(
    'registry',
    value => typeof (value as Partial<Registry>).getMessage === 'function',
    'a registry of @bufbuild/protobuf: createRegistry(…)',
  )
  const logger = safeLogger(options.object<Logger>('logger', isLogger, 'a pino logger') ?? defaultLogger())
  const parts = {
    namespace,
    logger,
    codec: new Codec(registry),
    autoCreate: autoCreateOf(options.boolean('autoCreate', undefined)),
    sweepMs: options.duration('sweepInterval', 250, { min: 1 }),
    maintenance: parseMaintenance(options.value('maintenance')),
  }
  const rowCacheBytes = options.integer('rowCacheBytes', 32 * 1024 * 1024, { min: 0, max: Number.MAX_SAFE_INTEGER })
  const store = await openStore(address, options, { namespace, rowCacheBytes, logger })
  return new Tidemark({ ...parts, store, engine: address.engine })
}

function autoCreateOf(given: boolean | undefined): AutoCreate {
  if (given === undefined) return 'to-publish'
  return given ? 'always' : 'never'
}

type Common = { namespace: string; rowCacheBytes: number; logger: Logger }

async function openStore(address: Address, options: Options, common: Common): Promise<Store> {
  if (address.engine === 'sqlite') {
    const { path } = address
    const durability = options.oneOf('durability', ['full', 'process'], 'full')
    const busyTimeoutMs = options.duration('busyTimeout', 10_000)
    options.done()
    const ownFile = common.namespace !== 'default'
    return await openSqlite({ path, durability, busyTimeoutMs, ownFile, rowCacheBytes: common.rowCacheBytes })
  }
  const poolSize = options.integer('poolSize', 10, { min: 2, max: 1_000 })
  const statementTimeoutMs = options.duration('statementTimeout', 30_000, { min: 100 })
  options.done()
  return await openPostgres({ url: address.url, poolSize, statementTimeoutMs, ...common })
}
