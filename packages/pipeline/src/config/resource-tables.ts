import { ConfigError } from 'tidemark'
import { choice, duration, flag, number, type OptionTable, rule, size, text, whole } from './option-table.ts'
import { externalTopics, topicSettings } from './topic-settings.ts'

/** One database of topics for the pipeline. */
export const TOPICS_OPTIONS = {
  url: text({
    says: 'Where the topics are. Relative to the working folder.',
    allowed: "`'sqlite:<file>'` or `'postgres://…'`",
    required: true,
    secret: true,
  }),
  namespace: text({ says: 'A complete set of topics of its own.', default: 'default' }),
  durability: choice(['full', 'process'], {
    says: 'SQLite: what a publish survives: a power failure, or only the end of the process.',
    default: 'full',
  }),
  busyTimeout: duration({ says: "SQLite: how long a write waits for other processes' writes.", default: '10s' }),
  poolSize: whole({ says: 'PostgreSQL: connections at most.', min: 2, max: 1_000, default: 10 }),
  statementTimeout: duration({
    says: 'PostgreSQL: how long a statement may take. A connection that has not answered by then is replaced.',
    default: '30s',
  }),
  settings: topicSettings,
  external: externalTopics,
} as const satisfies OptionTable

export const STORAGE_OPTIONS = {
  root: text({ says: 'The folder; it is made if it isn’t there.', allowed: 'the path of a folder', required: true }),
  compression: choice(['zstd', 'none'], { says: 'Of what is written; what is read tells itself.', default: 'zstd' }),
  level: whole({ says: 'Of zstd.', min: 1, max: 19, default: 3 }),
  maxTickBytes: whole({ says: "A single tick's bytes, at most.", min: 1, max: 2 ** 31 - 1, default: 64 * 1024 ** 2 }),
  maxFileBytes: whole({ says: 'What a file may decompress to, at most.', min: 1, default: 4 * 1024 ** 3 }),
  maxBatchBytes: whole({ says: 'What is read into memory at once, at most.', min: 1, default: 512 * 1024 ** 2 }),
  sharedReadBytes: whole({
    says: 'What services of one thread that read the same batch share in memory, at most: the file is then read once. `0`: nothing.',
    min: 0,
    default: 16 * 1024 ** 2,
  }),
} as const satisfies OptionTable

export const INDEX_OPTIONS = {
  address: text({
    says: 'Where the indexes are: a file or a schema for each run.',
    allowed: "`'sqlite:<folder>'` or `'postgres://…'`",
    required: true,
    secret: true,
  }),
  busyTimeout: duration({ says: 'How long to wait for another writer.', default: '30s' }),
  durability: choice(['full', 'process'], { says: 'SQLite: as for topics.', default: 'full' }),
  poolSize: whole({ says: 'PostgreSQL: connections at most, for each index.', min: 1, max: 1_000, default: 4 }),
} as const satisfies OptionTable

export const QUEUE_OPTIONS = {
  maxItems: whole({ says: 'How many may wait; then a put waits.', min: 1, default: 2_000 }),
  maxBytes: whole({ says: 'How many bytes may wait.', min: 1, default: 64 * 1024 ** 2 }),
} as const satisfies OptionTable

export const PIPELINE_OPTIONS = {
  startTimeout: duration({
    says: 'After which a service that has not started is left behind.',
    min: 1,
    default: '60s',
  }),
  stopTimeout: duration({ says: 'After which a service that has not stopped is left behind.', min: 1, default: '30s' }),
  maxDisk: size({
    says:
      'Disk budget: size of batches, indexes, topics and saved states at which the sources pause. They go on by themselves ' +
      'when there is room.',
    none: true,
    min: 1e6,
    default: 'none',
  }),
  minFreeDisk: size({
    says: 'Free disk space below which the sources pause. `0`: not looked at.',
    min: 0,
    default: '256MB',
  }),
} as const satisfies OptionTable

/** What every service has beside its type, bindings and options. */
export const SERVICE_OPTIONS = {
  enabled: flag({ says: '`false` leaves it out.', default: true }),
  thread: flag({ says: 'Runs it in a thread of its own; not for a service that takes from a queue.', default: false }),
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
