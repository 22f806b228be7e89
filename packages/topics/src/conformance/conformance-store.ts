import type { OpenOptions, Tidemark } from '../index.ts'

/** A store under test. */
export type ConformanceStore = {
  /** Title of its tests. */
  readonly name: string
  /** An empty database of its own for each test. */
  fresh(): Promise<ConformanceDatabase>
}

/** A database under test. Disposing of it closes what the test has opened, and removes it. */
export type ConformanceDatabase = AsyncDisposable & {
  /** Opens it with `open()`. Most tests want a queue that is there: pass `autoCreate: true` unless told otherwise. */
  open(options?: OpenOptions): Promise<Tidemark>
  /** Ends the term of every live lease, as if that time had passed; leases without a term stay. */
  expireLeases(): Promise<void>
}

export type ConformanceStores = {
  readonly stores: readonly ConformanceStore[]
  /** Those that several instances and processes share, and that outlive them. */
  readonly shared: readonly ConformanceStore[]
}
