import { type CheckedOptions, type GivenOptions, whole } from '@tidemark/pipeline'

const KiB = 1024
const MiB = 1024 ** 2
const GiB = 1024 ** 3

/** How much of everything one server takes. */
export const LIMITS = {
  bodyBytes: whole({ says: 'Of a request with JSON.', min: KiB, max: GiB, default: 8 * MiB }),
  nesting: whole({ says: 'Levels of a JSON body.', min: 1, max: 1_000, default: 64 }),
  ingestBytes: whole({ says: 'Of one request that brings ticks.', min: KiB, default: 64 * GiB }),
  bodyTimeoutMs: whole({
    says: 'A JSON body has to be there within it; one that brings ticks must not be silent for so long.',
    min: 1,
    max: 3_600_000,
    default: 30_000,
  }),
  pullBytes: whole({ says: 'Of the messages of one pull.', min: KiB, max: GiB, default: 16 * MiB }),
  pullWaitMs: whole({ says: 'A pull waits no longer.', min: 0, max: 600_000, default: 60_000 }),
  pulls: whole({ says: 'That wait at the same time.', min: 1, max: 100_000, default: 500 }),
  streams: whole({ says: 'Event streams that are open at the same time.', min: 1, max: 100_000, default: 100 }),
  streamBytes: whole({ says: 'That wait for a slow reader of a stream; then it is dropped.', min: KiB, default: MiB }),
  heartbeatMs: whole({ says: 'Between two signs of life on a silent stream.', min: 1, max: 600_000, default: 15_000 }),
  connections: whole({ says: 'Open at the same time.', min: 1, max: 1_000_000, default: 2_000 }),
  requestsPerSecond: whole({
    says: 'Of one token, and of one address; twice as many after a pause.',
    min: 1,
    max: 1_000_000,
    default: 2_000,
  }),
  requestsAtOnce: whole({
    says: 'Of one token, and of one address, that are not answered yet.',
    min: 1,
    max: 1_000_000,
    default: 1_000,
  }),
  wrongTokensPerMinute: whole({ says: 'Of one address.', min: 1, max: 1_000_000, default: 10 }),
  openRuns: whole({ says: 'Indexes of runs that are kept open.', min: 1, max: 1_000, default: 8 }),
  jsonCells: whole({ says: 'Cells or organisms of one answer in JSON.', min: 1, default: 1_000_000 }),
} as const

export type Limits = CheckedOptions<typeof LIMITS>
export type GivenLimits = GivenOptions<typeof LIMITS>
