import type { Backfills } from '../backfill/backfills.ts'
import type { ClockWatch } from '../clock-watch.ts'
import type { Duration } from '../duration.ts'
import type { Heartbeats } from '../heartbeats.ts'
import type { Instrumentation } from '../instrumentation.ts'
import type { Maintenance } from '../maintenance/maintenance.ts'
import type { Codec } from '../payload/codec.ts'
import type { Store } from '../stores/store.ts'
import type { HeartbeatSettings } from '../stores/subscription-record.ts'
import type { TopicRegistry } from '../topic-registry.ts'
import type { WakeHub } from '../wake-hub.ts'
import type { ConsumerIds } from './consumer-ids.ts'
import type { Isolation } from './isolation.ts'
import type { ReaderCounts } from './reader-counts.ts'
import type { Settler } from './settler.ts'
import type { Vitals } from './vitals.ts'

/** The parts of one open Tidemark that its groups and readers share. */
export type Engine = {
  readonly store: Store
  readonly topics: TopicRegistry
  readonly codec: Codec
  readonly instrumentation: Instrumentation
  readonly settler: Settler
  readonly isolation: Isolation
  readonly heartbeats: Heartbeats
  readonly vitals: Vitals
  readonly heartbeatDefaults: HeartbeatSettings
  readonly maintenance: Maintenance
  readonly clock: ClockWatch
  readonly wakeHub: WakeHub
  readonly readers: ReaderCounts
  readonly consumerIds: ConsumerIds
  readonly backfills: Backfills
  /** Throws a ClosedError after close(). */
  readonly assertOpen: () => void
  /** Groups and readers at work, to be stopped when it closes. */
  readonly started: Set<{ stop(options?: { timeout?: Duration }): Promise<void> }>
  /** How long a consumer waits before it looks by itself. */
  readonly sweepMs: number
}
