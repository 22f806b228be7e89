import { JOB_NAMES, type JobName, type JobResult } from '../maintenance/job.ts'
import type { Runtime } from '../runtime.ts'
import type { StoredSize } from '../stores/inspection.ts'
import { type Health, type HealthOptions, health } from './health.ts'
import { type Stats, type StatsOptions, StatsReader } from './stats.ts'

/** The maintenance jobs by name. */
export type JobVerbs = {
  readonly [name in JobName]: {
    /** What it did, by name; rejects with JobBusyError while another process runs it. */
    runOnce(): Promise<JobResult>
  }
}

/** The part of `tm.admin` that reports on the whole namespace, and runs its maintenance jobs. */
export type HealthAdmin = {
  /** The maintenance jobs. `tm.admin.jobs['dead-groups'].runOnce()` runs one now. */
  readonly jobs: JobVerbs
  /**
   * Return the size of the namespace on disk. Cheap: it does not read messages.
   *
   * @example
   * const { bytes } = await tm.admin.size()
   */
  size(): Promise<StoredSize>
  /**
   * Return all topics, groups and jobs, for dashboards and monitoring. The database is read at most every 15 s
   * (`maxAge`).
   *
   * @example
   * const { topics, jobs } = await tm.admin.stats({ maxAge: '30s' })
   */
  stats(options?: StatsOptions): Promise<Stats>
  /**
   * Return everything that needs attention in all topics. Safe to poll.
   *
   * @example
   * const { healthy, dead, stuck } = await tm.admin.health()
   */
  health(options?: HealthOptions): Promise<Health>
}

export function healthAdmin(runtime: Runtime): HealthAdmin {
  const stats = new StatsReader(runtime)
  return {
    jobs: jobVerbs(runtime),
    async size() {
      runtime.assertOpen()
      return await runtime.store.inspection.size()
    },
    stats: options => stats.read(options),
    // What it reads includes all statistics.
    health: options => health(runtime, options, (record, readAt) => stats.keep(record, readAt)),
  }
}

const jobVerbs = (runtime: Runtime): JobVerbs =>
  Object.fromEntries(JOB_NAMES.map(name => [name, { runOnce: () => runtime.maintenance.runOnce(name) }])) as JobVerbs
