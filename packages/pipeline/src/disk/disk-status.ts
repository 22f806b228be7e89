/** Disk usage of a pipeline, as of the last measurement. */
export type DiskStatus = {
  /** Whether there is space. False while sources are paused for lack of it. */
  readonly healthy: boolean
  /** Size of batches, indexes, topics and saved states, without reusable space inside database files. */
  readonly bytes: number
  /** Disk budget, or null. */
  readonly maxBytes: number | null
  /** Free bytes of the fullest disk with files of the pipeline, or null if none is on this machine. */
  readonly freeBytes: number | null
  /** Free bytes below which sources pause. */
  readonly minFreeBytes: number
  /** Growth over the last minute. */
  readonly bytesPerSecond: number
  /** Seconds until sources pause at this rate; 0: they are paused; null: nothing grows, there is no limit, or old data makes room. */
  readonly secondsLeft: number | null
  /** Whether sources are paused for lack of space. They resume by themselves. */
  readonly paused: boolean
  /** Why sources are paused and what helps, or null. */
  readonly reason: string | null
  /** Time at which they were paused, or null. */
  readonly pausedSince: Date | null
  /** Size of each part. */
  readonly parts: readonly DiskPartStatus[]
}

/** Disk usage of one part of a pipeline. */
export type DiskPartStatus = {
  /** Name of the part. */
  readonly name: string
  /** Kind of the part. */
  readonly kind: 'storage' | 'index' | 'topics' | 'states'
  /** Size in bytes. */
  readonly bytes: number
  /** Free bytes inside database files. They are reused before the files grow, so they do not count. */
  readonly reusableBytes: number
}
