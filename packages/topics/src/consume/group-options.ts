import type { BackfillOptions } from '../backfill/backfill-plan.ts'
import type { Duration } from '../options/duration.ts'
import type { Schema } from '../payload/schema.ts'
import type { HeartbeatOptions } from './heartbeat-options.ts'
import type { Filter } from './member.ts'
import type { From } from './start-position.ts'

/** Options of a consumer group. */
export type GroupOptions<T = unknown> = {
  /** Standard Schema validator. It validates every payload, and its output is what the handler receives. */
  schema?: Schema<unknown, T>
  /**
   * Maximum number of messages per claim (default 200). Fewer are claimed while handlers are slow, so that other
   * processes get a share. With `maxAttempts: 1` the default is the number of concurrent handlers, and nothing is
   * claimed ahead.
   */
  batchSize?: number
  /** Filter of the group. Messages it rejects count as processed. */
  filter?: Filter<T>
  /** Duration of a claim before others may take it over; 0 never expires (default: the lease of the topic). */
  lease?: Duration
  /**
   * Maximum time for which the lease is extended automatically while a handler runs. Without it, only `extend()`
   * extends a lease.
   */
  autoExtend?: Duration
  /** Decode each payload once for all groups of the process with this option. Payloads are frozen. */
  sharedPayloads?: boolean
}

/** Options of a consumer. */
export type ConsumerOptions<T = unknown> = {
  /** Filter of this consumer. Messages it rejects go to other consumers, or count as processed. */
  filter?: Filter<T>
  /** Maximum number of handlers running at the same time (default 1). */
  concurrency?: number
}

/** Options of `start`. */
export type StartOptions = {
  /** Start position of a new group (default `'now'`). */
  from?: From
  /** Heartbeats of the group. */
  heartbeat?: HeartbeatOptions
  /** Limits of the earlier messages that a new group receives; `false`: none. */
  backfill?: BackfillOptions | false
}

/** Options of `stop` and `close`. */
export type StopOptions = {
  /** Maximum wait for running handlers (default 10 s). */
  timeout?: Duration
}
