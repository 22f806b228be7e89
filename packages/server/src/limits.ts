import { type CheckedOptions, type GivenOptions, whole } from '@tidemark/pipeline'

const KiB = 1024
const MiB = 1024 ** 2
const GiB = 1024 ** 3

/** Limits of one server. */
export const LIMITS = {
  bodyBytes: whole({ says: 'Maximum bytes of a JSON request body.', min: KiB, max: GiB, default: 8 * MiB }),
  nesting: whole({ says: 'Maximum nesting of a JSON body.', min: 1, max: 1_000, default: 64 }),
  ingestBytes: whole({ says: 'Maximum bytes of a request with ticks.', min: KiB, default: 64 * GiB }),
  bodyTimeoutMs: whole({
    says: 'Time within which a JSON body must arrive, and maximum silence of a request with ticks, in milliseconds.',
    min: 1,
    max: 3_600_000,
    default: 30_000,
  }),
  answerBytes: whole({
    says: 'Maximum bytes of a JSON answer. The rest is on the next page.',
    min: 64 * KiB,
    max: GiB,
    default: 16 * MiB,
  }),
  unsentBytes: whole({
    says: 'Maximum bytes of large answers that wait for slow readers, of all clients together.',
    min: 2 * MiB,
    default: 256 * MiB,
  }),
  pullBytes: whole({ says: 'Maximum bytes of messages per pull.', min: KiB, max: GiB, default: 16 * MiB }),
  pullWaitMs: whole({ says: 'Maximum wait of a pull in milliseconds.', min: 0, max: 600_000, default: 60_000 }),
  pulls: whole({ says: 'Maximum number of waiting pulls.', min: 1, max: 100_000, default: 500 }),
  streams: whole({ says: 'Maximum number of open event streams.', min: 1, max: 100_000, default: 100 }),
  streamBytes: whole({
    says: 'Maximum bytes buffered for a slow reader of a stream before it is disconnected.',
    min: KiB,
    default: MiB,
  }),
  heartbeatMs: whole({
    says: 'Interval between heartbeats on an idle stream in milliseconds.',
    min: 1,
    max: 600_000,
    default: 15_000,
  }),
  connections: whole({ says: 'Maximum number of open connections.', min: 1, max: 1_000_000, default: 2_000 }),
  requestsPerSecond: whole({
    says: 'Maximum requests per second of one token, and of one address; twice as many in a burst after a pause.',
    min: 1,
    max: 1_000_000,
    default: 2_000,
  }),
  requestsAtOnce: whole({
    says: 'Maximum number of unanswered requests of one token, and of one address.',
    min: 1,
    max: 1_000_000,
    default: 1_000,
  }),
  wrongTokensPerMinute: whole({
    says: 'Maximum wrong tokens per minute from one address.',
    min: 1,
    max: 1_000_000,
    default: 10,
  }),
  openRuns: whole({ says: 'Maximum number of run indexes kept open.', min: 1, max: 1_000, default: 8 }),
  overviewGroups: whole({
    says: 'Maximum number of groups in an overview, of all topics together. Each topic shows those that need attention first.',
    min: 1,
    max: 100_000,
    default: 1_000,
  }),
  historySeries: whole({
    says: 'Maximum number of series in one answer of the history.',
    min: 1,
    max: 100_000,
    default: 1_000,
  }),
  tilePixels: whole({
    says: 'Maximum number of pixels of a tile or frame.',
    min: 1,
    max: 2 ** 26,
    default: 4 * 1024 ** 2,
  }),
  frames: whole({ says: 'Maximum number of frames in one stream.', min: 1, max: 1_000_000, default: 3_000 }),
  jsonCells: whole({ says: 'Maximum number of cells on a page of JSON.', min: 1, default: 1_000_000 }),
} as const

/** Limits of a server, with their defaults. */
export type Limits = CheckedOptions<typeof LIMITS>
/** Limits of a server, as an option. Each has a default. */
export type GivenLimits = GivenOptions<typeof LIMITS>
