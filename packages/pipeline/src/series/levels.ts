/**
 * A series is stored at several resolutions. Level 0 has a row per tick; level n has one per bucket of 8^n sampling
 * intervals, which is rolled up from the eight rows below it.
 */
export const FACTOR = 8
/** The highest level: a bucket of 16.7 million sampled ticks. */
export const TOP_LEVEL = 8

/** Ticks per bucket. */
export const bucketSize = (level: number, samplingInterval: number): number => samplingInterval * FACTOR ** level

export const bucketOf = (tick: number, level: number, samplingInterval: number): number =>
  Math.floor(tick / bucketSize(level, samplingInterval))
