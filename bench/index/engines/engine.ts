import type { EngineName } from '../../suite.ts'

export type RawRow = { readonly tick: number; readonly data: Uint8Array }

/** A database as the index uses it, and past the index. */
export type IndexEngine = AsyncDisposable & {
  readonly name: EngineName
  readonly version: string
  /** Where indexes go. */
  readonly address: string
  /** An empty table of ticks and bytes, as durable as the index. */
  rawTable(): Promise<RawTable>
  /** What the table of environment ticks of a run takes on the disk. */
  environmentBytes(runId: string): Promise<number>
}

export type RawTable = AsyncDisposable & {
  /** In one transaction, in the fastest way that was found. */
  insert(rows: readonly RawRow[]): Promise<void>
}
