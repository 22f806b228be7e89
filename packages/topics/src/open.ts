import { isAbsolute, parse, resolve } from 'node:path'
import type { Registry } from '@bufbuild/protobuf'
import type { Duration } from './duration.ts'
import { ConfigError } from './errors.ts'
import { defaultLogger, isLogger, type Logger } from './logger.ts'
import { type MaintenanceOptions, type MaintenancePreset, parseMaintenance } from './maintenance/presets.ts'
import { checkNamespace } from './names.ts'
import { Options } from './options.ts'
import { Codec } from './payload/codec.ts'
import { openPostgres } from './stores/postgres/postgres-store.ts'
import { openSqlite } from './stores/sqlite/sqlite-store.ts'
import type { Store } from './stores/store.ts'
import { Tidemark } from './tidemark.ts'

export type OpenOptions = {
  /** A complete, isolated set of topics: a PostgreSQL schema, or a SQLite file of its own. */
  namespace?: string
  /** Topics come into being when they are first used; false: only through configureTopic(). */
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
  const namespace = checkNamespace(options.value('namespace') ?? 'default')
  const registry = options.object<Registry>(
    'registry',
    value => typeof (value as Partial<Registry>).getMessage === 'function',
    'a registry of @bufbuild/protobuf: createRegistry(…)',
  )
  const logger = options.object<Logger>('logger', isLogger, 'a pino logger') ?? defaultLogger()
  const parts = {
    namespace,
    logger,
    codec: new Codec(registry),
    autoCreate: options.boolean('autoCreate', true),
    sweepMs: options.duration('sweepInterval', 250, { min: 1 }),
    maintenance: parseMaintenance(options.value('maintenance')),
  }
  const rowCacheBytes = options.integer('rowCacheBytes', 32 * 1024 * 1024, { min: 0, max: Number.MAX_SAFE_INTEGER })
  const store = await openStore(url, options, { namespace, rowCacheBytes, logger })
  return new Tidemark({ ...parts, store })
}

type Common = { namespace: string; rowCacheBytes: number; logger: Logger }

async function openStore(url: unknown, options: Options, common: Common): Promise<Store> {
  if (typeof url === 'string' && url.startsWith('sqlite:')) {
    const path = sqlitePath(url, common.namespace)
    const durability = options.oneOf('durability', ['full', 'process'], 'full')
    const busyTimeoutMs = options.duration('busyTimeout', 10_000)
    options.done()
    const ownFile = common.namespace !== 'default'
    return await openSqlite({ path, durability, busyTimeoutMs, ownFile, rowCacheBytes: common.rowCacheBytes })
  }
  if (typeof url === 'string' && /^postgres(ql)?:\/\//.test(url)) {
    const poolSize = options.integer('poolSize', 10, { min: 2, max: 1_000 })
    options.done()
    return await openPostgres({ url, poolSize, ...common })
  }
  // The address may hold a password: only its scheme is shown.
  const shown = typeof url === 'string' ? url.replace(/(:).*$/s, '$1…') : url
  throw new ConfigError('open.url', shown, "'sqlite:<file>', 'sqlite::memory:' or 'postgres://…'")
}

/** `app.db` for the default namespace, its sibling `app.<namespace>.db` for another. */
function sqlitePath(url: string, namespace: string): string {
  const file = url.slice('sqlite:'.length)
  if (file === '') throw new ConfigError('open.url', url, "'sqlite:<file>' with a file name")
  if (file === ':memory:') return file
  const path = isAbsolute(file) ? file : resolve(file)
  if (namespace === 'default') return path
  const { dir, name, ext } = parse(path)
  return resolve(dir, `${name}.${namespace}${ext}`)
}
