import type { Row } from './row.ts'

/**
 * A library for PostgreSQL, for `open({ driver })`. It lends Tidemark connections that belong to the program: Tidemark
 * changes no setting beyond its own transactions, and never closes them.
 *
 * @example
 * const sql = postgres('postgres://user@host/database')
 * const tm = await open({ driver: postgresJs(sql) })
 */
export type PostgresDriver = {
  /** Which engine's statements it runs. */
  readonly engine: 'postgres'
  /** Name of the library, for errors: `'postgres.js'`. */
  readonly name: string
  /** Server and database, for logs and errors: `'host:5432/database'`, without user and password. */
  readonly location: string
  /** Maximum number of connections. With one, nothing of Tidemark runs while a transaction of yours is open. */
  readonly maxConnections: number
  /** A `Uint8Array` among the values is sent in PostgreSQL's binary format (default false: Tidemark sends text only). */
  readonly sendsBinary?: boolean
  /**
   * Runs a transaction on one connection: begin with isolation level READ COMMITTED and READ WRITE, then `setup`
   * (several statements without parameters), then `work`, then commit. `work` receives the rows of the last statement
   * of `setup`. If anything fails, roll back and reject with the error; a connection that can't be rolled back must not
   * be used again. `signal` aborts if the server does not answer in time: drop the connection then, if that is
   * possible.
   */
  transaction<T>(setup: string, work: PostgresWork<T>, signal: AbortSignal): Promise<T>
  /**
   * Listens to the notifications of a channel, whose name needs quoting. Without it, consumers poll. Call `heard` with
   * the payload, or with null if some may have been missed; call `lost` when no more will arrive.
   */
  listen?(channel: string, on: PostgresListener): Promise<PostgresListening>
}

/** What runs inside a transaction of a `PostgresDriver`. `rows`: the rows of the last statement of the setup. */
export type PostgresWork<T> = (tx: PostgresTransaction, rows: readonly Row[]) => Promise<T>

/** An open transaction of a `PostgresDriver`. */
export type PostgresTransaction = {
  /**
   * Runs a statement, with parameters in PostgreSQL's text format. All values of the rows are the text that the server
   * sent, or null. `name`: the statement may be prepared under this name, once per connection.
   */
  query(text: string, values: readonly (string | Uint8Array | null)[], name?: string): Promise<readonly Row[]>
  /** Runs one or more statements without parameters. */
  exec(text: string): Promise<unknown>
}

/** Callbacks of a `PostgresDriver` that listens. */
export type PostgresListener = {
  /** A notification came; null: some may have been missed. */
  heard(payload: string | null): void
  /** No more notifications will arrive. */
  lost(): void
}

/** A channel that is listened to. */
export type PostgresListening = {
  /** Runs a statement on the listening connection, if that is possible. */
  query?(text: string, values: readonly string[]): Promise<unknown>
  /** Stops listening. */
  close(): Promise<void>
}
