import type { Duration } from './duration.ts'
import { Options } from './options.ts'
import type { BackfillPlan, BackfillScope } from './stores/fan-out-store.ts'

/** How a group of a reference topic catches up with what was published before. Everything has a default. */
export type BackfillOptions = {
  preset?: 'conservative' | 'aggressive'
  /** `pending`: what some group still has to process or nobody was there for. `retained`: all that is kept. */
  scope?: BackfillScope
  /** The newest so many. */
  maxMessages?: number
  batchSize?: number
  maxPerSecond?: number
  /** Slows down while the 95th percentile of a small write takes longer. */
  targetLatency?: Duration
}

const STANDARD = { batchSize: 10_000, maxPerSecond: 50_000, targetMs: 10 }
const PRESETS = {
  conservative: { batchSize: 5_000, maxPerSecond: 10_000, targetMs: 5 },
  aggressive: { batchSize: 50_000, maxPerSecond: 200_000, targetMs: 50 },
}
const MOST_MESSAGES = 1_000_000

export const DEFAULT_BACKFILL: BackfillPlan = { scope: 'pending', maxMessages: MOST_MESSAGES, ...STANDARD }

/** Reads them from among the options of one call. */
export function readBackfillOptions(options: Options, scope: BackfillScope = 'pending'): BackfillPlan {
  const preset = options.oneOf('preset', ['conservative', 'aggressive'], undefined)
  const standard = preset === undefined ? STANDARD : PRESETS[preset]
  return {
    scope: options.oneOf('scope', ['pending', 'retained'], scope),
    maxMessages: options.integer('maxMessages', MOST_MESSAGES, { min: 1, max: Number.MAX_SAFE_INTEGER }),
    batchSize: options.integer('batchSize', standard.batchSize, { min: 1, max: 1_000_000 }),
    maxPerSecond: options.integer('maxPerSecond', standard.maxPerSecond, { min: 1, max: 1_000_000_000 }),
    targetMs: options.duration('targetLatency', standard.targetMs, { min: 1 }),
  }
}

export function parseBackfillOptions(what: string, given: unknown, scope?: BackfillScope): BackfillPlan {
  const options = new Options(what, given)
  const plan = readBackfillOptions(options, scope)
  options.done()
  return plan
}
