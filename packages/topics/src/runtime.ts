import type { BackfillRunner } from './backfill/backfill-runner.ts'
import type { ConsumerIds } from './consume/consumer-ids.ts'
import type { HeartbeatSender } from './consume/heartbeat-sender.ts'
import type { Isolation } from './consume/isolation.ts'
import type { ReaderCounts } from './consume/reader-counts.ts'
import type { Settler } from './consume/settler.ts'
import type { Vitals } from './consume/vitals.ts'
import type { WakeHub } from './consume/wake-hub.ts'
import type { ClockWatch } from './maintenance/clock-watch.ts'
import type { Maintenance } from './maintenance/maintenance.ts'
import type { Instrumentation } from './observe/instrumentation.ts'
import type { Duration } from './options/duration.ts'
import type { Codec } from './payload/codec.ts'
import type { Schema } from './payload/schema.ts'
import type { Store } from './stores/store.ts'
import type { HeartbeatSettings } from './stores/subscription-record.ts'
import type { TopicRegistry } from './topic-registry.ts'

/** The parts of one open Tidemark that its groups and readers share. */
export type Runtime = {
  readonly store: Store
  readonly topics: TopicRegistry
  readonly codec: Codec
  /** Schemas that `open` was given, by topic. */
  readonly schemas: ReadonlyMap<string, Schema>
  readonly instrumentation: Instrumentation
  readonly settler: Settler
  readonly isolation: Isolation
  readonly heartbeats: HeartbeatSender
  readonly vitals: Vitals
  readonly heartbeatDefaults: HeartbeatSettings
  readonly maintenance: Maintenance
  readonly clock: ClockWatch
  readonly wakeHub: WakeHub
  readonly readers: ReaderCounts
  readonly consumerIds: ConsumerIds
  readonly backfills: BackfillRunner
  /** Throws a ClosedError after close(). */
  readonly assertOpen: () => void
  /** Running groups and readers, to be stopped on close. */
  readonly started: Set<{ stop(options?: { timeout?: Duration }): Promise<void> }>
  /** How long a consumer waits before it polls. */
  readonly sweepMs: number
}
