import type { Row } from './row.ts'

/**
 * What the functions below the concept objects are given. They send statements; the concept object has decided in which
 * transaction. The `Database` itself runs each statement in a transaction of its own, which is all that a hot path needs.
 */
export type Statements = {
  /** The schema of the namespace's tables. */
  readonly schema: string
  /** The schema of this version's functions. */
  readonly functions: string
  /** host:port/database, never a user or a password. */
  readonly location: string
  /** The statement with the schemas of this namespace's tables and functions in it. */
  sql(template: string): string
  /** A `name` makes each connection prepare the statement once, where it may. */
  query(text: string, values?: unknown[], name?: string): Promise<Row[]>
}

/** Statements on one connection. */
export type SingleConnection = Statements & {
  /** Runs one or more statements without parameters, whose rows nobody reads. */
  exec(text: string): Promise<void>
}

/** Statements inside one transaction that is open already: all of them are stored, or none. */
export type Transaction = SingleConnection
