import type { Row } from './row.ts'

/**
 * What the concept objects pass to the functions below them. The functions send statements; the concept object has
 * decided in which transaction. The `Database` itself runs each statement in its own transaction, which is all that a
 * hot path needs.
 */
export type Statements = {
  /** The schema of the namespace's tables. */
  readonly schema: string
  /** The schema of this version's functions. */
  readonly functions: string
  /** host:port/database, never a user or a password. */
  readonly location: string
  /** The statement with the schemas of this namespace's tables and functions filled in. */
  sql(template: string): string
  /** With a `name` each connection prepares the statement once, if sessions are kept. */
  query(text: string, values?: unknown[], name?: string): Promise<Row[]>
}

/** Statements on one connection. */
export type SingleConnection = Statements & {
  /** Runs one or more statements without parameters, discarding their rows. */
  exec(text: string): Promise<void>
}

/** Statements inside one open transaction: all of them are stored, or none. */
export type Transaction = SingleConnection
