/**
 * A series is kept at several resolutions. On level 0 there is a row for each tick; on level n one for each bucket of
 * 8^n sampling intervals, which is rolled up from the eight rows below it.
 */
export const FACTOR = 8
/** The highest: a bucket of 16.7 million sampled ticks. */
export const TOP_LEVEL = 8

/** Ticks from one bucket to the next. */
export const bucketSize = (level: number, samplingInterval: number): number => samplingInterval * FACTOR ** level

export const bucketOf = (tick: number, level: number, samplingInterval: number): number =>
  Math.floor(tick / bucketSize(level, samplingInterval))
