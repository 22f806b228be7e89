import { TidemarkError } from './tidemark-error.ts'

/** The database refused or could not be reached; subclasses say why. */
export class DatabaseError extends TidemarkError {
  constructor(message: string, cause?: unknown, code = 'TIDEMARK_DATABASE') {
    super(code, message, cause)
  }
}

export class DatabaseUnreachableError extends DatabaseError {
  constructor(where: string, cause?: unknown) {
    super(
      `Can't reach the database at ${where}. Check that the server runs and the address is right. ` +
        `A write that was under way may or may not have been stored; publish with a messageId to repeat it safely`,
      cause,
      'TIDEMARK_DATABASE_UNREACHABLE',
    )
  }
}

export class DatabaseReadOnlyError extends DatabaseError {
  constructor(where: string, cause?: unknown) {
    super(
      `The database at ${where} is read-only. Give this process write access to the file and its folder, ` +
        `or connect to the primary server`,
      cause,
      'TIDEMARK_DATABASE_READ_ONLY',
    )
  }
}

export class DatabaseLockedError extends DatabaseError {
  constructor(where: string, waitedMs: number, cause?: unknown) {
    super(
      `The database at ${where} was locked by another writer for ${waitedMs} ms. ` +
        `End the transaction that is open on it, or raise busyTimeout`,
      cause,
      'TIDEMARK_DATABASE_LOCKED',
    )
  }
}

export class DatabaseFullError extends DatabaseError {
  constructor(where: string, cause?: unknown) {
    super(
      `The database at ${where} is full. Free disk space (or raise its size limit); nothing was stored by this call`,
      cause,
      'TIDEMARK_DATABASE_FULL',
    )
  }
}

/** The engine, or the schema written by another Tidemark, is of a version this one can't use. */
export class DatabaseVersionError extends DatabaseError {
  constructor(message: string) {
    super(message, undefined, 'TIDEMARK_DATABASE_VERSION')
  }
}

/** The namespace came from another cluster by a logical restore, and its positions mean nothing here. */
export class DatabaseRestoredError extends DatabaseError {
  constructor(where: string) {
    super(
      `The namespace at ${where} was restored from another server: its positions are told in that server's transactions, ` +
        `and messages published here would be skipped. Nothing was changed; run 'tidemark repair', or repair(url), once`,
      undefined,
      'TIDEMARK_DATABASE_RESTORED',
    )
  }
}

/** A repair needs the namespace for itself. */
export class DatabaseInUseError extends DatabaseError {
  readonly users: readonly string[]

  constructor(where: string, users: readonly string[]) {
    super(
      `The namespace at ${where} is in use by ${users.join(', ')}. Stop these processes, and repair it then`,
      undefined,
      'TIDEMARK_DATABASE_IN_USE',
    )
    this.users = users
  }
}

/** The `tx` given to publish can't be used: not open, or of another database. */
export class TransactionError extends TidemarkError {
  constructor(message: string, cause?: unknown) {
    super('TIDEMARK_TRANSACTION', message, cause)
  }
}
