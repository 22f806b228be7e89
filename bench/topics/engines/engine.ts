import type { EngineName } from '../../suite.ts'

/** A database to measure on, with Tidemark's door (`url`) and the raw one beside it. */
export type BenchDatabase = {
  readonly name: EngineName
  readonly url: string
  /** A plain table in the same database, over a connection of its own. */
  rawTable(name: string): Promise<RawTable>
  /** As autovacuum does about a minute after a table was filled; done at once, it can't fall between two samples. */
  gatherStatistics(): Promise<void>
  /** Begins to count what the database writes. */
  countWrites(): Promise<WriteCounter>
}

/** The same, and the server or folder that it is in. */
export type BenchEngine = BenchDatabase &
  AsyncDisposable & {
    readonly version: string
    /** As after days: nothing of the files is in memory. Ends all connections. */
    forgetCaches(): Promise<void>
  }

/** The engine's raw limit: the least that a program must do to store and read the same rows. */
export type RawTable = AsyncDisposable & {
  /** Each batch in a transaction of its own, one after another. */
  insertBatches(batches: readonly RawBatch[]): Promise<void>
  /** What insertBatches takes, made beforehand: encoding is no part of the limit. */
  prepareBatch(texts: readonly string[]): RawBatch
  /** One row, in a transaction of its own. */
  insertOne(text: string): Promise<void>
  /** All rows with a message's columns, in pages by keyset. Gives their number. */
  readAll(pageSize: number): Promise<number>
  /** The same, of the payloads alone. */
  readPayloads(pageSize: number): Promise<number>
  /** As readAll, with every payload parsed: the least that any consumer must do. */
  readAndParse(pageSize: number): Promise<number>
}

export type RawBatch = { readonly size: number; readonly values: unknown }

export type WriteCounter = AsyncDisposable & {
  /** Since it was made: bytes of the write-ahead log, and rows written. Call it when Tidemark is closed. */
  read(): Promise<Writes>
}

export type Writes = {
  readonly walBytes: number
  /** Inserted, updated or deleted in the tables that groups write to: lease, retry, subscription. */
  readonly groupRows: number
  /** Inserted, updated or deleted in the logs. */
  readonly logRows: number
}
