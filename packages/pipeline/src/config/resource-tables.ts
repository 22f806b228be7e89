import { ConfigError } from 'tidemark'
import { type Keep, parseKeep } from '../services/retention/keep.ts'
import { choice, duration, flag, number, type OptionTable, rule, size, text, whole } from './option-table.ts'
import { externalTopics, topicSettings } from './topic-settings.ts'

/** One database of topics for the pipeline. */
export const TOPICS_OPTIONS = {
  url: text({
    says: 'Database of the topics.',
    allowed: "`'sqlite:<file>'`, `'postgres://…'` or `'nats://…'`",
    required: true,
    secret: true,
    path: 'address',
  }),
  namespace: text({ says: 'Namespace: an isolated set of topics.', default: 'default' }),
  durability: choice(['full', 'process'], {
    says: 'SQLite only. `full`: a publish survives a power failure. `process`: it survives the end of the process.',
    default: 'full',
  }),
  busyTimeout: duration({ says: "SQLite only: maximum wait for other processes' writes.", default: '10s' }),
  poolSize: whole({ says: 'PostgreSQL only: maximum number of connections.', min: 2, max: 1_000, default: 10 }),
  statementTimeout: duration({
    says: 'PostgreSQL only: statement timeout. A connection that does not answer in time is replaced.',
    default: '30s',
  }),
  settings: topicSettings,
  external: externalTopics,
} as const satisfies OptionTable

export const STORAGE_OPTIONS = {
  root: text({
    says: 'Folder of the batch files. It is created if missing.',
    allowed: 'the path of a folder',
    required: true,
    path: 'file',
  }),
  compression: choice(['zstd', 'none'], {
    says: 'Compression of new files. Existing files are detected.',
    default: 'zstd',
  }),
  level: whole({ says: 'zstd compression level, 1 to 19.', min: 1, max: 19, default: 3 }),
  maxTickBytes: whole({ says: 'Maximum size of a tick in bytes.', min: 1, max: 2 ** 31 - 1, default: 64 * 1024 ** 2 }),
  maxFileBytes: whole({ says: 'Maximum decompressed size of a file in bytes.', min: 1, default: 4 * 1024 ** 3 }),
  maxBatchBytes: whole({
    says: 'Maximum bytes of a batch read into memory at once.',
    min: 1,
    default: 512 * 1024 ** 2,
  }),
  sharedReadBytes: whole({
    says: 'Memory in bytes in which services of one thread share a batch, so that its file is read once. `0` disables it.',
    min: 0,
    default: 16 * 1024 ** 2,
  }),
} as const satisfies OptionTable

export const INDEX_OPTIONS = {
  address: text({
    says: 'Database of the indexes: one file or schema per run.',
    allowed: "`'sqlite:<folder>'` or `'postgres://…'`",
    required: true,
    secret: true,
    path: 'address',
  }),
  busyTimeout: duration({ says: 'Maximum wait for another writer.', default: '30s' }),
  durability: choice(['full', 'process'], {
    says: 'SQLite only: durability of writes, as for `topics`.',
    default: 'full',
  }),
  poolSize: whole({
    says: 'PostgreSQL only: maximum number of connections per index.',
    min: 1,
    max: 1_000,
    default: 4,
  }),
} as const satisfies OptionTable

export const QUEUE_OPTIONS = {
  maxItems: whole({
    says: 'Maximum number of items in the queue; a put waits while it is full.',
    min: 1,
    default: 2_000,
  }),
  maxBytes: whole({
    says: 'Maximum bytes in the queue. A single larger item waits until the queue is empty.',
    min: 1,
    default: 64 * 1024 ** 2,
  }),
  external: flag({
    says: 'Whether something other than a service fills or drains it, such as ticks that come over HTTP.',
    default: false,
  }),
} as const satisfies OptionTable

const keepRule = <const More extends object>(about: { readonly says: string } & More) =>
  rule<Keep, More>(about, "`'forever'`, `'fits'`, a duration such as `'1h'`, or a number of ticks", (path, value) => {
    parseKeep(path, value)
    return value as Keep
  })

export const PIPELINE_OPTIONS = {
  startTimeout: duration({
    says: 'Maximum time for a service to start.',
    min: 1,
    default: '60s',
  }),
  stopTimeout: duration({ says: 'Maximum time for a service to stop.', min: 1, default: '30s' }),
  maxDisk: size({
    says:
      'Disk budget: total size of batches, indexes, topics and saved states at which the sources pause. They resume ' +
      'by themselves when space is free.',
    none: true,
    min: 1e6,
    default: 'none',
  }),
  keep: keepRule({
    says:
      'Retention of a run. Older batches that every indexer has processed are removed, with their ledger rows and ' +
      'indexed data. A duration refers to the time a batch was written; a number of ticks is counted back from the ' +
      'last tick that every indexer has processed. With `fits` the oldest ticks are removed when 85 % of ' +
      '`maxDisk` are used, so that it goes on within the budget instead of pausing.',
    default: 'forever',
  }),
  minFreeDisk: size({
    says: 'Free disk space below which the sources pause. `0` disables the check.',
    min: 0,
    default: '256MB',
  }),
  maxWaitingBatches: whole({
    says:
      'Batches that may wait for an indexer of this pipeline before the sources are slowed to half of its speed, so that ' +
      'it catches up. Indexers that are paused or fail slow no source. `0` disables it.',
    min: 0,
    default: 50,
  }),
  maxWaitingTime: duration({
    says:
      'The same for batches of many ticks: time that a batch may wait for an indexer that has not claimed it, with others ' +
      'behind it. `0` disables it.',
    default: '10s',
  }),
} as const satisfies OptionTable

/** Fields of every service besides its type, bindings and options. */
export const SERVICE_OPTIONS = {
  enabled: flag({ says: 'Whether the service runs.', default: true }),
  thread: flag({
    says: "Run the service in its own worker thread. Services that read from a queue can't.",
    default: false,
  }),
} as const satisfies OptionTable

export const shape = <const More extends object>(about: { readonly says: string } & More) =>
  rule<readonly number[], More>(about, 'whole numbers such as `[100, 100]`', (path, value) => {
    const isShape = Array.isArray(value) && value.every(size => Number.isSafeInteger(size) && size >= 1)
    if (!isShape || value.length === 0)
      throw new ConfigError(path, value, 'whole numbers from 1 on, such as [100, 100]')
    return value
  })

export const fraction = <const More extends object>(about: { readonly says: string } & More) =>
  number({ ...about, min: 0, max: 1 })
