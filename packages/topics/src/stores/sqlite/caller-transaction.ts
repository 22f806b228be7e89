import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { TransactionError } from '../../errors.ts'
import type { Connection } from './connection.ts'
import { mapError } from './sqlite-errors.ts'
import type { Prepare } from './transaction.ts'

/** Runs `work` in a transaction that the caller has open, checked; it holds the write lock once it has written. */
export function inCallersTransaction<T>(connection: Connection, tx: unknown, work: (prepare: Prepare) => T): T {
  const { db, prepare } = prepareOn(tx, connection.realPath)
  try {
    connection.requireNamespaceOf(prepare)
    return work(prepare)
  } catch (error) {
    throw mapError(error, connection.path)
  } finally {
    connection.noteTransaction(db)
  }
}

const statementsOf = new WeakMap<DatabaseSync, Map<string, StatementSync>>()

/** The caller's own connection, checked: the same file, with a transaction open. */
function prepareOn(tx: unknown, realPath: string): { readonly db: DatabaseSync; readonly prepare: Prepare } {
  if (!(tx instanceof DatabaseSync)) {
    throw new TransactionError(
      'On SQLite, tx must be a DatabaseSync of node:sqlite with a transaction open on the same file',
    )
  }
  if (!tx.isOpen || !tx.isTransaction) {
    throw new TransactionError(
      "The DatabaseSync given as tx has no transaction open. Call exec('begin immediate') on it first",
    )
  }
  if (realPath === ':memory:' || tx.location() !== realPath) {
    throw new TransactionError(
      `The DatabaseSync given as tx has ${tx.location() ?? 'a memory database'} open, not ${realPath}`,
    )
  }
  const statements = statementsOf.get(tx) ?? new Map<string, StatementSync>()
  statementsOf.set(tx, statements)
  const prepare: Prepare = sql => {
    const statement = statements.get(sql) ?? tx.prepare(sql)
    statements.set(sql, statement)
    return statement
  }
  return { db: tx, prepare }
}
