/** What a pipeline takes on its disks, and how long that can go on. Read in constant time: as of the last look. */
export type DiskStatus = {
  /** False while the sources are paused for want of room. */
  readonly healthy: boolean
  /** Batches, indexes, topics and saved states, without the room inside of database files that is used again first. */
  readonly bytes: number
  /** The budget; null: none. */
  readonly maxBytes: number | null
  /** Left on the fullest of the disks that hold files of the pipeline; null: none of them is on this machine. */
  readonly freeBytes: number | null
  /** Sources pause when less than this is left. */
  readonly minFreeBytes: number
  /** Over the last minute. */
  readonly bytesPerSecond: number
  /** Until the sources pause, at this pace; 0: they are paused; null: nothing grows, or nothing bounds it. */
  readonly secondsLeft: number | null
  /** The sources wait for room. They go on by themselves. */
  readonly paused: boolean
  /** Why they wait, and what helps; null: they don't. */
  readonly reason: string | null
  readonly pausedSince: Date | null
  readonly parts: readonly DiskPartStatus[]
}

export type DiskPartStatus = {
  readonly name: string
  readonly kind: 'storage' | 'index' | 'topics' | 'states'
  readonly bytes: number
  /** Inside of database files: used again before they grow, and so not counted. */
  readonly reusableBytes: number
}
