import { ConfigError } from '../errors.ts'
import type { Duration } from '../options/duration.ts'
import { Options } from '../options/options.ts'

/** Preset of the maintenance jobs (docs/guides/operating.md). */
export type MaintenancePreset = 'standard' | 'low' | 'high' | 'critical'

/** Settings of the maintenance jobs. The preset supplies the others. */
export type MaintenanceOptions = {
  /** Preset (default `'standard'`). */
  preset?: MaintenancePreset
  /** Interval of the job that removes messages past their retention. */
  cleanUpEvery?: Duration
  /** Messages removed per transaction. */
  cleanUpBatch?: number
  /** Interval of the detection of dead groups. */
  detectEvery?: Duration
  /** Heartbeat timeout of new groups without one of their own. */
  heartbeatTimeout?: Duration
  /** Retention of cancelled and dead subscriptions. */
  subscriptionRetention?: Duration
}

export type MaintenanceSettings = {
  /** False: jobs run only on demand. */
  readonly scheduled: boolean
  readonly cleanUpEveryMs: number
  readonly cleanUpBatch: number
  readonly detectEveryMs: number
  readonly heartbeatTimeoutMs: number
  readonly subscriptionRetentionMs: number
}

const SECOND = 1_000
const MINUTE = 60 * SECOND
const DAY = 24 * 60 * MINUTE

const STANDARD: MaintenanceSettings = {
  scheduled: true,
  cleanUpEveryMs: 5 * MINUTE,
  cleanUpBatch: 10_000,
  detectEveryMs: MINUTE,
  heartbeatTimeoutMs: 300 * SECOND,
  subscriptionRetentionMs: 30 * DAY,
}

const PRESETS: Record<MaintenancePreset, MaintenanceSettings> = {
  standard: STANDARD,
  low: {
    ...STANDARD,
    cleanUpEveryMs: 15 * MINUTE,
    cleanUpBatch: 5_000,
    detectEveryMs: 5 * MINUTE,
    heartbeatTimeoutMs: 600 * SECOND,
  },
  high: { ...STANDARD, cleanUpEveryMs: MINUTE, cleanUpBatch: 50_000, subscriptionRetentionMs: 7 * DAY },
  critical: {
    ...STANDARD,
    detectEveryMs: 2 * MINUTE,
    heartbeatTimeoutMs: 600 * SECOND,
    subscriptionRetentionMs: 90 * DAY,
  },
}

const NAMES = Object.keys(PRESETS) as MaintenancePreset[]

export function parseMaintenance(value: unknown): MaintenanceSettings {
  if (value === undefined) return STANDARD
  if (value === false) return { ...STANDARD, scheduled: false }
  if (typeof value === 'string') {
    const preset = NAMES.find(name => name === value)
    if (preset !== undefined) return PRESETS[preset]
  }
  if (typeof value !== 'object') {
    throw new ConfigError('open.maintenance', value, `${NAMES.map(name => `'${name}'`).join(', ')}, false or an object`)
  }
  const options = new Options('open.maintenance', value)
  const base = PRESETS[options.oneOf('preset', NAMES, 'standard')]
  const settings = {
    scheduled: true,
    cleanUpEveryMs: options.duration('cleanUpEvery', base.cleanUpEveryMs, { min: 1 }),
    cleanUpBatch: options.integer('cleanUpBatch', base.cleanUpBatch, { min: 1, max: 1_000_000 }),
    detectEveryMs: options.duration('detectEvery', base.detectEveryMs, { min: 1 }),
    heartbeatTimeoutMs: options.duration('heartbeatTimeout', base.heartbeatTimeoutMs, { min: 2 }),
    subscriptionRetentionMs: options.duration('subscriptionRetention', base.subscriptionRetentionMs),
  }
  options.done()
  return settings
}
