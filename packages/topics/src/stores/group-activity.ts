import { Histogram, type Percentiles, type SparseHistogram } from '../observe/metrics/histogram.ts'
import type { ClaimConflicts } from '../observe/metrics/scope.ts'

/** What one process has reported about a group. */
export type ReportedActivity = {
  /** Claims within the last minute. */
  readonly claims: number
  /** Claims that had to wait for another one. */
  readonly claim_conflicts: number
  /** Handler durations. */
  readonly handler: SparseHistogram
}

/** Activity of a group. */
export type SummedActivity = {
  /** Handler durations in milliseconds. */
  readonly handler: Percentiles
  /** Claims that had to wait for another one. */
  readonly claimConflicts: ClaimConflicts
}

/**
 * Activity of all processes together.
 *
 * @example
 * const { handler, claimConflicts } = sumActivity([])
 */
export function sumActivity(reported: readonly ReportedActivity[]): SummedActivity {
  // Of many thousand groups, most have no process: a histogram for each was a tenth of reading them.
  if (reported.length === 0) return NONE
  const handler = new Histogram()
  let claims = 0
  let lastMinute = 0
  for (const each of reported) {
    handler.merge(each.handler)
    claims += each.claims
    lastMinute += each.claim_conflicts
  }
  return { handler: handler.snapshot(), claimConflicts: { lastMinute, ratio: claims === 0 ? 0 : lastMinute / claims } }
}

const NONE: SummedActivity = { handler: new Histogram().snapshot(), claimConflicts: { lastMinute: 0, ratio: 0 } }
