import { type MaintenanceOptions, type MaintenancePreset, parseMaintenance } from './maintenance/presets.ts'
import { defaultLogger } from './observe/default-logger.ts'
import { isLogger, type Logger, safeLogger } from './observe/logger.ts'
import type { Duration } from './options/duration.ts'
import { Options } from './options/options.ts'
import { Codec } from './payload/codec.ts'
import { loadProtobuf, type ProtobufRegistry } from './payload/protobuf.ts'
import { readSchemas, type TopicSchemas } from './payload/schema.ts'
import type { ClientFactory, DatabaseAddress } from './stores/driver.ts'
import { resolveEngine } from './stores/registry.ts'
import { Tidemark } from './tidemark.ts'
import type { AutoCreate } from './topic-registry.ts'
import type { AnyTopics, PlainTopics, SchemasOf } from './topic-types.ts'

/** Options of `open`. */
export type OpenOptions = {
  /** Isolated set of topics: a PostgreSQL schema, or a separate SQLite file (default `'default'`). */
  namespace?: string
  /**
   * Who creates a topic that does not exist, as a queue. Default: the first publish. `true`: consumers too. `false`:
   * only `configureTopic()`.
   */
  autoCreate?: boolean
  /**
   * Schemas by topic (Zod, Valibot, ArkType, or any Standard Schema). They type the topics, and validate payloads when
   * they are published and when they are consumed.
   */
  schemas?: TopicSchemas
  /** Protobuf schemas: `createRegistry(BatchInfoSchema, …)` of @bufbuild/protobuf. */
  registry?: ProtobufRegistry
  /** A pino logger, or any object of its shape (default: warnings and errors to standard error, as JSON lines). */
  logger?: Logger
  /** Interval at which consumers poll in addition to notifications (default 250 ms). */
  sweepInterval?: Duration
  /** Cache per topic for rows that several groups of this process read, in bytes (default 32 MiB). */
  rowCacheBytes?: number
  /**
   * SQLite only. `full` (default): a publish survives a power failure. `process`: it survives the end of the process,
   * and is faster.
   */
  durability?: 'full' | 'process'
  /** SQLite only: maximum wait for writes of other processes. */
  busyTimeout?: Duration
  /** PostgreSQL only: size of the connection pool. One more connection listens, and one sends heartbeats. */
  poolSize?: number
  /**
   * PostgreSQL only: timeout of connecting and of statements (default 30 s). A connection that does not answer in time
   * is replaced. Maintenance has longer timeouts.
   */
  statementTimeout?: Duration
  /**
   * PostgreSQL by URL only: function that returns a new `pg` Client, not yet connected, for each new connection. It may
   * be async, to fetch a token that expires. The URL is then used for messages only.
   */
  client?: ClientFactory
  /**
   * PostgreSQL by URL only: TLS, as `pg` takes it: `true`, `false`, or options of Node's `tls.connect` such as `ca`.
   * Default: what the URL's `sslmode` says.
   */
  ssl?: boolean | object
  /** NATS JetStream only: replicas of the streams that are created, 1 to 5 (default 1). */
  replicas?: number
  /** NATS JetStream only: timeout of a request to the servers (default 5 s). */
  requestTimeout?: Duration
  /** Maintenance jobs, run by one process at a time: a preset, options, or `false` to run them on demand only. */
  maintenance?: MaintenancePreset | MaintenanceOptions | false
}

/**
 * Open a namespace of topics, and create or upgrade its tables. The database is a URL (`sqlite:<file>`,
 * `sqlite::memory:`, `postgres://…`, or `nats://…` with `@tidemark/jetstream`), the program's own pool of `pg`, or a driver
 * of `tidemark/drivers`.
 *
 * @example
 * await using tm = await open('sqlite:./data/app.db')
 * await using shared = await open('postgres://user@host/database', { namespace: 'run-7' })
 * await using pooled = await open({ postgres: new pg.Pool() })
 *
 * @example
 * // Typed topics: a wrong name or payload is a compile error.
 * await using typed = await open<{ orders: { orderId: number } }>('sqlite:./data/app.db')
 * await typed.publish('orders', { orderId: 7 })
 */
export async function open<Schemas extends TopicSchemas>(
  database: DatabaseAddress,
  options: OpenOptions & { schemas: Schemas },
): Promise<Tidemark<Schemas>>
export async function open<Topics extends object>(
  database: DatabaseAddress,
  options: OpenOptions & { schemas: SchemasOf<Topics> },
): Promise<Tidemark<Topics>>
export async function open<Topics extends PlainTopics<Topics> = AnyTopics>(
  database: DatabaseAddress,
  options?: OpenOptions,
): Promise<Tidemark<Topics>>
export async function open(database: DatabaseAddress, given?: OpenOptions): Promise<Tidemark> {
  const options = new Options('open', given)
  const { engine, address } = await resolveEngine('open.url', database, options.value('namespace'))
  const { namespace } = address
  const registry = options.object<ProtobufRegistry>(
    'registry',
    value => typeof (value as Partial<ProtobufRegistry>).getMessage === 'function',
    'a registry of @bufbuild/protobuf: createRegistry(…)',
  )
  const logger = safeLogger(options.object<Logger>('logger', isLogger, 'a pino logger') ?? defaultLogger())
  const parts = {
    namespace,
    logger,
    schemas: readSchemas(options),
    codec: new Codec(registry && (await loadProtobuf(registry))),
    autoCreate: autoCreateOf(options.boolean('autoCreate', undefined)),
    sweepMs: options.duration('sweepInterval', 250, { min: 1 }),
    maintenance: parseMaintenance(options.value('maintenance')),
  }
  const rowCacheBytes = options.integer('rowCacheBytes', 32 * 1024 * 1024, { min: 0, max: Number.MAX_SAFE_INTEGER })
  const store = await engine.open(address, { options, rowCacheBytes, logger })
  return Tidemark.create({ ...parts, store, engine: engine.name })
}

function autoCreateOf(given: boolean | undefined): AutoCreate {
  if (given === undefined) return 'to-publish'
  return given ? 'always' : 'never'
}
