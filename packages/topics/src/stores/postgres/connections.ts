import type { PoolUse } from '../inspection.ts'
import type { Row } from './row.ts'

/**
 * What a `Database` sends its statements over: its own connections, or those that the program lends through a driver.
 * Every transaction is READ COMMITTED and READ WRITE; every wait ends.
 */
export type Connections = {
  /** host:port/database, never a user or a password. */
  readonly location: string
  /** Whether Buffer parameters are sent unchanged, in PostgreSQL's binary format. */
  readonly sendsBinary: boolean
  /** Whether there is only one connection, which a caller that publishes in its own transaction occupies. */
  readonly isSingle: boolean
  /**
   * Whether a connection is one session of the server, so that prepared statements stay; behind some poolers it is not.
   * Nothing is prepared or set for a whole session before this is known.
   */
  keepsSessions: boolean
  /** Called whenever a connection is found to be lost: the server may come back without its newest commits. */
  onLost: () => void
  /** Runs one statement in a transaction of its own. */
  query(statement: Statement, limitMs: number): Promise<Row[]>
  /** `look`: a statement without parameters that is sent with the BEGIN, and whose row is passed to `work`. */
  transaction<T>(
    look: string | null,
    work: (sender: Sender, row: Row | undefined) => Promise<T>,
    limitMs: number,
  ): Promise<T>
  /** A connection outside any transaction, which is not reused afterwards; if the source has such connections. */
  readonly session?: <T>(work: (sender: Sender) => Promise<T>, limitMs: number) => Promise<T>
  /** A dedicated connection for heartbeats; if the source has such connections. */
  readonly apart?: (limitMs: number) => Apart
  /** Missing if notifications cannot be received. */
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
  /** Runs one or more statements without parameters, discarding their rows. */
  exec(text: string): Promise<void>
}

export type Apart = {
  readonly isGone: boolean
  connect(): Promise<void>
  query(statement: Statement): Promise<Row[]>
  /** Closes the connection at once, without telling the server. */
  destroy(): void
  /** Tells the server, and waits briefly for its answer. */
  leave(): Promise<void>
}

/** Receives the wake-ups of a channel. */
export type Ear = {
  /** Resolves when no more notifications can arrive. */
  readonly gone: Promise<void>
  /** Sends a statement on the listening connection, if that is possible. */
  readonly query?: (text: string, values: string[], name?: string) => Promise<unknown>
  destroy(): void
  leave(): Promise<void>
}
