import type { Storage } from './storage.ts'

/** Size of a run in a storage. */
export type RunSize = {
  /** Number of files. */
  readonly files: number
  /** Bytes of all files. */
  readonly bytes: number
}

/** A storage with what a pipeline and its commands need besides batches and metadata. */
export type ManagedStorage = Storage & {
  /** Where it is, for people: the path of a folder, or `s3://bucket/prefix`. */
  readonly name: string
  /** Rejects if it is unavailable. */
  look(): Promise<void>
  /** Number and size of a run's files, including quarantined ones, or null if there are none. */
  sizeOfRun(runId: string): Promise<RunSize | null>
  /** Removes all files of a run, including quarantined ones. Returns false if there were none. */
  removeRun(runId: string): Promise<boolean>
}
