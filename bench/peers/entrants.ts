import type { Contender } from './contender.ts'
import { openBareSql } from './contenders/bare-sql.ts'
import { openBullMqOnPostgres, openBullMqOnRedis } from './contenders/bullmq.ts'
import { openGraphileWorker } from './contenders/graphile-worker.ts'
import { openJetStream } from './contenders/jetstream.ts'
import { openPgBoss } from './contenders/pg-boss.ts'
import { openPgmq } from './contenders/pgmq.ts'
import { openPlainJob } from './contenders/plainjob.ts'
import { openRedisStreams } from './contenders/redis-streams.ts'
import { openTidemarkOnPostgres, openTidemarkOnSqlite } from './contenders/tidemark.ts'

export type BackendName = 'sqlite' | 'postgres' | 'redis' | 'nats'

export type Entrant = {
  readonly id: string
  readonly name: string
  readonly backend: BackendName
  /** The settings it was measured with, and how durable an acknowledged publish is. */
  readonly settings: string
  /** The cases it takes part in; undefined: all. */
  readonly cases?: readonly string[]
  /** `address`: a path for SQLite, a port for Redis, a URL for the others. */
  open(address: string): Promise<Contender>
}

export const OURS_POSTGRES = 'tidemark-postgres'
export const OURS_SQLITE = 'tidemark-sqlite'
export const BARE = 'bare-sql'

export const ENTRANTS: readonly Entrant[] = [
  {
    id: OURS_SQLITE,
    name: 'Tidemark, SQLite',
    backend: 'sqlite',
    settings: '`batchSize` 1000, otherwise the defaults; `synchronous=FULL`',
    open: openTidemarkOnSqlite,
  },
  {
    id: OURS_POSTGRES,
    name: 'Tidemark, PostgreSQL',
    backend: 'postgres',
    settings: '`batchSize` 1000, otherwise the defaults; fsync on',
    open: openTidemarkOnPostgres,
  },
  {
    id: BARE,
    name: 'bare SQL (limit)',
    backend: 'postgres',
    settings:
      'one `insert` per publish, `unnest` per batch, `notify`, `select`; no groups, acknowledgements or retries; fsync on',
    cases: ['publish-single', 'publish-batch', 'latency-100'],
    open: openBareSql,
  },
  {
    id: 'pg-boss',
    name: 'pg-boss',
    backend: 'postgres',
    settings:
      '`insert()`, `fetch()` and `complete()` of 1000; a table per queue (`partition`), LISTEN/NOTIFY; one copy per group; fsync on',
    open: openPgBoss,
  },
  {
    id: 'graphile-worker',
    name: 'graphile-worker',
    backend: 'postgres',
    settings:
      '`addJobs()` of 1000, `localQueue.size` 500, `completeJobBatchDelay` 0, `concurrentJobs` 24; one copy per group; fsync on',
    open: openGraphileWorker,
  },
  {
    id: 'bullmq-postgres',
    name: 'BullMQ, PostgreSQL',
    backend: 'postgres',
    settings: '`addBulk()` of 1000, concurrency 100, `removeOnComplete`; one copy per group; fsync on',
    open: openBullMqOnPostgres,
  },
  {
    id: 'pgmq',
    name: 'PGMQ-style SQL',
    backend: 'postgres',
    settings:
      "the extension's statements by hand: `send_batch`, `read` and `delete` of 1000, a notify trigger for the latency; one copy per group; fsync on",
    open: openPgmq,
  },
  {
    id: 'plainjob',
    name: 'plainjob',
    backend: 'sqlite',
    settings:
      '`addMany()` of 1000, polls every millisecond; `synchronous=FULL` like the others (its own default, NORMAL, may lose the newest jobs with the power); one copy per group',
    open: openPlainJob,
  },
  {
    id: 'bullmq-redis',
    name: 'BullMQ, Redis',
    backend: 'redis',
    settings: '`addBulk()` of 1000, concurrency 100, `removeOnComplete`; one copy per group; `appendfsync always`',
    open: openBullMqOnRedis,
  },
  {
    id: 'redis-streams',
    name: 'Redis Streams',
    backend: 'redis',
    settings:
      'pipelines of 1000 `XADD`, `XREADGROUP COUNT 1000`, one `XACK` per page; no retries, dead letters or take-over; `appendfsync always`, everything in memory',
    open: openRedisStreams,
  },
  {
    id: 'jetstream',
    name: 'NATS JetStream',
    backend: 'nats',
    settings:
      'one server, file storage, atomic batches of 1000, pull consumers with `AckPolicy.All` once per 1000; `sync_interval: always`, but acknowledgements are not synced',
    open: openJetStream,
  },
]
