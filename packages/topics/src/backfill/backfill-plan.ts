import type { Duration } from '../duration.ts'
import { ConfigError } from '../errors.ts'
import { Options } from '../options.ts'
import type { BackfillPlan, BackfillScope } from '../stores/fan-out-store.ts'

/** How a late joiner of a reference topic gets what was published before. Everything has a default. */
export type BackfillOptions = {
  /** `conservative`: small steps that nobody notices. `aggressive`: as fast as the database allows. */
  preset?: 'conservative' | 'aggressive'
  /** `pending`: what some group still has to process or nobody was there for. `retained`: all that is kept. */
  scope?: BackfillScope
  /** The newest so many; 'all' without a limit. */
  maxMessages?: number | 'all'
  batchSize?: number
  maxPerSecond?: number
  /** It slows down while the 95th percentile of a small write on the live path takes longer. */
  targetLatency?: Duration
}

export const DEFAULT_BACKFILL: BackfillPlan = {
  scope: 'pending',
  maxMessages: 1_000_000,
  batchSize: 10_000,
  maxPerSecond: 50_000,
  targetMs: 10,
}

const PRESETS = {
  conservative: { ...DEFAULT_BACKFILL, batchSize: 5_000, maxPerSecond: 10_000, targetMs: 5 },
  aggressive: { ...DEFAULT_BACKFILL, batchSize: 50_000, maxPerSecond: 200_000, targetMs: 50 },
}

/** The plan that the options of `what` ask for; false: none, undefined: they don't say. */
export function parseBackfill(what: string, value: unknown): BackfillPlan | false | undefined {
  if (value === undefined || value === false) return value
  if (value === true || typeof value !== 'object') throw new ConfigError(what, value, 'false or an object of options')
  const options = new Options(what, value)
  const preset = options.oneOf('preset', ['conservative', 'aggressive'], undefined)
  const base = preset === undefined ? DEFAULT_BACKFILL : PRESETS[preset]
  const isUnlimited = options.value('maxMessages') === 'all'
  const plan: BackfillPlan = {
    scope: options.oneOf('scope', ['pending', 'retained'], base.scope),
    maxMessages: isUnlimited
      ? null
      : (options.integer('maxMessages', base.maxMessages ?? undefined, { min: 0, max: Number.MAX_SAFE_INTEGER }) ??
        null),
    batchSize: options.integer('batchSize', base.batchSize, { min: 1, max: 1_000_000 }),
    maxPerSecond: options.integer('maxPerSecond', base.maxPerSecond, { min: 1, max: 1_000_000_000 }),
    targetMs: options.duration('targetLatency', base.targetMs, { min: 1 }),
  }
  options.done()
  return plan
}
