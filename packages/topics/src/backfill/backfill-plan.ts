import type { Duration } from '../options/duration.ts'
import { Options } from '../options/options.ts'
import type { BackfillPlan, BackfillScope } from '../stores/backfills.ts'

/** How earlier messages are delivered to a group that joins late or returns (reference tracking). */
export type BackfillOptions = {
  /** Preset for batch size and rate. */
  preset?: BackfillPreset
  /** `retained` (default): all retained messages. `pending`: messages that some group has not processed. */
  scope?: BackfillScope
  /**
   * Maximum number of messages, newest first (default unlimited). In any topic it also limits what a new group starts
   * with, what a reset goes back to, and what a resurrected group receives.
   */
  maxMessages?: number | 'all'
  /** Messages per transaction. */
  batchSize?: number
  /** Maximum messages per second. */
  maxPerSecond?: number
  /** Write latency of live traffic above which the backfill slows down. */
  targetLatency?: Duration
}

/** Preset of a backfill. */
export type BackfillPreset = 'conservative' | 'aggressive'

/** All retained messages: the meaning of 'beginning' in every topic, and what a resurrected group has missed. */
export const DEFAULT_BACKFILL: BackfillPlan = {
  scope: 'retained',
  maxMessages: null,
  batchSize: 10_000,
  maxPerSecond: 50_000,
  targetMs: 10,
}

const PRESETS: Record<BackfillPreset, Partial<BackfillPlan>> = {
  conservative: { batchSize: 5_000, maxPerSecond: 10_000, targetMs: 5 },
  aggressive: { batchSize: 50_000, maxPerSecond: 200_000, targetMs: 50 },
}

export type ParsedBackfill = {
  /** undefined: not given. false: none. */
  readonly plan: BackfillPlan | false | undefined
  /** Only if the caller gave `maxMessages`; null: all. */
  readonly limit: number | null | undefined
}

export function parseBackfill(path: string, value: unknown): ParsedBackfill {
  if (value === undefined || value === false) return { plan: value, limit: undefined }
  const options = new Options(path, value)
  const parsed = readBackfill(options)
  options.done()
  return parsed
}

/** Reads the backfill plan from the options of one call. */
export function readBackfill(options: Options): { plan: BackfillPlan; limit: number | null | undefined } {
  const preset = options.oneOf('preset', ['conservative', 'aggressive'], undefined)
  const base = { ...DEFAULT_BACKFILL, ...(preset && PRESETS[preset]) }
  const limit =
    options.value('maxMessages') === 'all'
      ? null
      : options.integer('maxMessages', undefined, { min: 0, max: Number.MAX_SAFE_INTEGER })
  const plan: BackfillPlan = {
    scope: options.oneOf('scope', ['pending', 'retained'], base.scope),
    maxMessages: limit === undefined ? base.maxMessages : limit,
    batchSize: options.integer('batchSize', base.batchSize, { min: 1, max: 1_000_000 }),
    maxPerSecond: options.integer('maxPerSecond', base.maxPerSecond, { min: 1, max: 1_000_000_000 }),
    targetMs: options.duration('targetLatency', base.targetMs, { min: 1 }),
  }
  return { plan, limit }
}
