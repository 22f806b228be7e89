import type { PoolUse } from '../inspection.ts'
import type { Row } from './row.ts'

/**
 * What a `Database` sends its statements over: connections of its own, or those that the program lends it through a driver.
 * Every transaction is READ COMMITTED and READ WRITE; every wait ends.
 */
export type Connections = {
  /** host:port/database, never a user or a password. */
  readonly location: string
  /** A Buffer among the parameters is sent as it is, in PostgreSQL's binary format. */
  readonly sendsBinary: boolean
  /** Whoever publishes in a transaction of theirs may hold the only connection. */
  readonly isSingle: boolean
  /**
   * A connection is one session of the server, so what is prepared in it stays; not so behind some poolers. Nothing is
   * prepared or set for a whole session before this is known.
   */
  keepsSessions: boolean
  /** Called whenever a connection turns out to be lost: the server may come back without its newest commits. */
  onLost: () => void
  /** Runs one statement in a transaction of its own. */
  query(statement: Statement, limitMs: number): Promise<Row[]>
  /** `look`: a statement without parameters that is sent with the BEGIN, and whose row is given to `work`. */
  transaction<T>(
    look: string | null,
    work: (sender: Sender, row: Row | undefined) => Promise<T>,
    limitMs: number,
  ): Promise<T>
  /** A connection outside any transaction, which nobody uses again; where there are such. */
  readonly session?: <T>(work: (sender: Sender) => Promise<T>, limitMs: number) => Promise<T>
  /** A connection apart from all others, for heartbeats; where there are such. */
  readonly apart?: (limitMs: number) => Apart
  /** Where wake-ups can be heard at all. */
  readonly listen?:
    | ((
        channel: string,
        heard: (payload: string | null) => void,
        limits: { readonly limitMs: number; readonly signal: AbortSignal },
      ) => Promise<Ear>)
    | undefined
  use(): PoolUse
  close(withinMs: number): Promise<void>
}

export type Statement = {
  readonly text: string
  readonly values: readonly unknown[]
  readonly name?: string | undefined
}

/** Sends statements on one connection. */
export type Sender = {
  query(statement: Statement): Promise<Row[]>
  /** One or more statements without parameters, whose rows nobody reads. */
  exec(text: string): Promise<void>
}

export type Apart = {
  readonly isGone: boolean
  connect(): Promise<void>
  query(statement: Statement): Promise<Row[]>
  /** At once, and without a word to the server. */
  destroy(): void
  /** With a word to the server, which is not waited for long. */
  leave(): Promise<void>
}

/** What hears the wake-ups of a channel. */
export type Ear = {
  /** Resolves when nothing more will be heard. */
  readonly gone: Promise<void>
  /** On the connection that listens, where statements can be sent on it. */
  readonly query?: (text: string, values: string[]) => Promise<unknown>
  destroy(): void
  leave(): Promise<void>
}
