import { randomUUID } from 'node:crypto'
import { BackfillRunner } from './backfill/backfill-runner.ts'
import { ConsumerIds } from './consume/consumer-ids.ts'
import { heartbeatDefaults } from './consume/heartbeat-options.ts'
import { HeartbeatSender } from './consume/heartbeat-sender.ts'
import { Isolation } from './consume/isolation.ts'
import { ReaderCounts } from './consume/reader-counts.ts'
import { Settler } from './consume/settler.ts'
import { Vitals } from './consume/vitals.ts'
import { WakeHub } from './consume/wake-hub.ts'
import { ClockWatch } from './maintenance/clock-watch.ts'
import { createJobs } from './maintenance/jobs.ts'
import { Maintenance } from './maintenance/maintenance.ts'
import type { MaintenanceSettings } from './maintenance/presets.ts'
import { Instrumentation } from './observe/instrumentation.ts'
import type { Logger } from './observe/logger.ts'
import { watchedStore } from './observe/watched-store.ts'
import type { Codec } from './payload/codec.ts'
import type { Schema } from './payload/schema.ts'
import type { Runtime } from './runtime.ts'
import type { Store } from './stores/store.ts'
import { type AutoCreate, TopicRegistry } from './topic-registry.ts'

export type TidemarkParts = {
  readonly store: Store
  /** For the log: 'sqlite' or 'postgres'. */
  readonly engine: string
  readonly codec: Codec
  /** Schemas by topic. */
  readonly schemas: ReadonlyMap<string, Schema>
  readonly logger: Logger
  readonly autoCreate: AutoCreate
  readonly sweepMs: number
  readonly namespace: string
  readonly maintenance: MaintenanceSettings
}

/** `leaveWakeHub` must be called on close. */
export function createRuntime(
  parts: TidemarkParts,
  assertOpen: () => void,
): { readonly runtime: Runtime; readonly leaveWakeHub: () => void } {
  const { store: database, codec, schemas, logger, autoCreate, sweepMs, namespace, maintenance } = parts
  const instrumentation = new Instrumentation(logger)
  // Nobody else uses a memory database.
  const { hub: wakeHub, leave: leaveWakeHub } = WakeHub.join(
    database.capabilities.persistent ? `${database.location} ${namespace}` : randomUUID(),
  )
  const store = watchedStore(database, instrumentation.outages)
  const vitals = new Vitals()
  const clock = new ClockWatch(store, instrumentation)
  const heartbeats = new HeartbeatSender(store, instrumentation, vitals)
  const backfills = new BackfillRunner({ store, instrumentation, wake: topicId => wakeHub.wake(topicId) })
  const jobs = createJobs(store, instrumentation, backfills, maintenance)
  const runtime: Runtime = {
    store,
    codec,
    schemas,
    instrumentation,
    wakeHub,
    sweepMs,
    topics: new TopicRegistry(store, autoCreate),
    settler: new Settler(store, instrumentation, wakeHub, heartbeats),
    isolation: new Isolation(),
    heartbeats,
    vitals,
    heartbeatDefaults: heartbeatDefaults(maintenance.heartbeatTimeoutMs),
    maintenance: new Maintenance(store, instrumentation, clock, jobs),
    clock,
    readers: new ReaderCounts((...reader) => store.leases.forgetReader(...reader)),
    consumerIds: new ConsumerIds(),
    backfills,
    started: new Set(),
    assertOpen,
  }
  return { runtime, leaveWakeHub }
}
