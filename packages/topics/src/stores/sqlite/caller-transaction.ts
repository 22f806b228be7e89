import { DatabaseReadOnlyError, TransactionError } from '../../errors.ts'
import { type CallersDatabase, callersDatabase } from './caller-database.ts'
import type { Connection } from './connection.ts'
import { mapError } from './sqlite-errors.ts'
import type { Prepare } from './transaction.ts'

/**
 * Runs `work` in the caller's open transaction, after checking it. The transaction holds the write lock once it has
 * written.
 */
export function inCallersTransaction<T>(connection: Connection, tx: unknown, work: (prepare: Prepare) => T): T {
  const db = callersDatabase(tx)
  requireSameLibrary(connection, db)
  if (!db.isTransaction) {
    throw new TransactionError(
      `The database of ${db.library} given as tx has no transaction open, so nothing was stored. Run 'begin immediate' on it first, ` +
        'and publish before it commits',
    )
  }
  if (connection.realPath === ':memory:' || db.path !== connection.realPath) {
    throw new TransactionError(
      `The database of ${db.library} given as tx has ${db.path || 'a memory database'} open, not ${connection.realPath}. Nothing ` +
        'was stored. Open Tidemark on the file of your transactions, with the same namespace',
    )
  }
  try {
    connection.requireNamespaceOf(db.prepare)
    return work(db.prepare)
  } catch (error) {
    throw explained(mapError(error, connection.path))
  } finally {
    connection.noteTransaction(db)
  }
}

/**
 * Two copies of SQLite in one process don't know each other's locks, and the first to close a file releases the locks
 * of the other (https://sqlite.org/howtocorrupt.html#multiple_copies_of_sqlite_linked_into_the_same_application).
 */
function requireSameLibrary({ driverName }: Connection, { library }: CallersDatabase): void {
  if (library === driverName) return
  throw new TransactionError(
    `The tx given to publish is of ${library}, and this Tidemark uses ${driverName}. Nothing was stored. Two copies of ` +
      "SQLite in one process can corrupt a file. Open Tidemark with your library, through a driver of 'tidemark/drivers', " +
      `or use ${driverName} for your transactions`,
  )
}

function explained(error: unknown): unknown {
  if (!(error instanceof DatabaseReadOnlyError)) return error
  return new TransactionError(
    'The connection given as tx is read-only. Nothing was stored. Open it for writing to publish in its transactions',
    error,
  )
}
