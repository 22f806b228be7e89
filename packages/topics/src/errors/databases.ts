import type { DatabaseErrorCode } from './codes.ts'
import { groupName } from './groups.ts'
import { TidemarkError } from './tidemark-error.ts'

/** The database returned an error or is unavailable. Subclasses give the reason. */
export class DatabaseError extends TidemarkError {
  /** `'TIDEMARK_DATABASE'`, or the code of the subclass. */
  declare readonly code: DatabaseErrorCode

  constructor(message: string, cause?: unknown, code: DatabaseErrorCode = 'TIDEMARK_DATABASE') {
    super(code, message, cause)
  }
}

/** No connection to the database could be made. */
export class DatabaseUnreachableError extends DatabaseError {
  /** `'TIDEMARK_DATABASE_UNREACHABLE'`, or the code of the subclass. */
  declare readonly code: 'TIDEMARK_DATABASE_UNREACHABLE' | 'TIDEMARK_DATABASE_MOVED'

  constructor(
    where: string,
    cause?: unknown,
    message = unreachable(where),
    code: 'TIDEMARK_DATABASE_UNREACHABLE' | 'TIDEMARK_DATABASE_MOVED' = 'TIDEMARK_DATABASE_UNREACHABLE',
  ) {
    super(message, cause, code)
  }
}

const unreachable = (where: string): string =>
  `Can't reach the database at ${where}. Check that the server runs and the address is right. ` +
  `A write in progress may or may not have been stored. Publish with a messageId, so that you can repeat it safely`

/** SQLite only: the file was moved. Processing continues when it is moved back. */
export class DatabaseMovedError extends DatabaseUnreachableError {
  /** Always `'TIDEMARK_DATABASE_MOVED'`. */
  declare readonly code: 'TIDEMARK_DATABASE_MOVED'

  constructor(path: string) {
    super(
      path,
      undefined,
      `The database file ${path} was moved while this process had it open. Nothing was stored by this call. Move the ` +
        'file and its -wal and -shm files back and processing continues, or close this Tidemark',
      'TIDEMARK_DATABASE_MOVED',
    )
  }
}

/**
 * A write may or may not be stored, because its confirmation failed. It is retried automatically only if it is
 * idempotent.
 */
export class OutcomeUnknownError extends DatabaseError {
  /** Always `'TIDEMARK_OUTCOME_UNKNOWN'`. */
  declare readonly code: 'TIDEMARK_OUTCOME_UNKNOWN'
  /** Whether the connection was lost or the file moved. */
  readonly isConnectionLost: boolean

  private constructor(what: string, isConnectionLost: boolean, cause: unknown) {
    super(
      `${what}, so the write may or may not be stored. Repeat a publish only with the same messageId; without one it ` +
        'may be stored twice. Other calls can be repeated',
      cause,
      'TIDEMARK_OUTCOME_UNKNOWN',
    )
    this.isConnectionLost = isConnectionLost
  }

  static afterFailedSync(where: string, cause: unknown): OutcomeUnknownError {
    const what = `A transaction on ${where} was committed, but syncing it to the disk failed`
    return new OutcomeUnknownError(what, false, cause)
  }

  static beforeSync(where: string): OutcomeUnknownError {
    const what = `A transaction on ${where} was committed, but not yet synced to the disk when this Tidemark was closed`
    return new OutcomeUnknownError(what, false, undefined)
  }

  static afterMove(where: string): OutcomeUnknownError {
    return new OutcomeUnknownError(`The database file ${where} was moved away during a transaction`, true, undefined)
  }

  /** The database refused a settlement, which goes on being tried after its caller was told. */
  static whileRetried(cause: DatabaseError): OutcomeUnknownError {
    const what = `A settlement was not stored, and is tried again in the background (${cause.message})`
    return new OutcomeUnknownError(what, false, cause)
  }

  static afterLostConnection(where: string, cause: unknown): OutcomeUnknownError {
    const what = `The connection to the database at ${where} was lost before its answer came`
    return new OutcomeUnknownError(what, true, cause)
  }
}

/** SQLite only: the log can't be synced to disk, so calls are refused before they write. */
export class SyncError extends DatabaseError {
  /** Always `'TIDEMARK_SYNC'`. */
  declare readonly code: 'TIDEMARK_SYNC'

  constructor(message: string, cause?: unknown) {
    super(message, cause, 'TIDEMARK_SYNC')
  }
}

/** The database can't be written to. */
export class DatabaseReadOnlyError extends DatabaseError {
  /** Always `'TIDEMARK_DATABASE_READ_ONLY'`. */
  declare readonly code: 'TIDEMARK_DATABASE_READ_ONLY'

  constructor(where: string, cause?: unknown) {
    super(
      `The database at ${where} is read-only. Give this process write access to the file and its folder, ` +
        `or connect to the primary server`,
      cause,
      'TIDEMARK_DATABASE_READ_ONLY',
    )
  }
}

/** Another process held the write lock for too long. */
export class DatabaseLockedError extends DatabaseError {
  /** Always `'TIDEMARK_DATABASE_LOCKED'`. */
  declare readonly code: 'TIDEMARK_DATABASE_LOCKED'

  constructor(where: string, waitedMs: number, cause?: unknown) {
    super(
      `The database at ${where} was locked by another writer for ${waitedMs} ms. ` +
        `End the transaction that is open on it, or raise busyTimeout`,
      cause,
      'TIDEMARK_DATABASE_LOCKED',
    )
  }
}

/** A statement exceeded its timeout and was rolled back by the server. */
export class DatabaseTimeoutError extends DatabaseError {
  /** Always `'TIDEMARK_DATABASE_TIMEOUT'`. */
  declare readonly code: 'TIDEMARK_DATABASE_TIMEOUT'

  constructor(where: string, limitMs: number, cause?: unknown) {
    super(
      `The database at ${where} cancelled a statement that exceeded the statementTimeout of ${limitMs} ms. Nothing ` +
        'was stored. Look for transactions that hold locks, or raise statementTimeout',
      cause,
      'TIDEMARK_DATABASE_TIMEOUT',
    )
  }
}

/** The disk or the database is full. */
export class DatabaseFullError extends DatabaseError {
  /** Always `'TIDEMARK_DATABASE_FULL'`. */
  declare readonly code: 'TIDEMARK_DATABASE_FULL'

  constructor(where: string, cause?: unknown) {
    super(
      `The database at ${where} is full. Nothing was stored by this call. Free disk space, or raise its size limit`,
      cause,
      'TIDEMARK_DATABASE_FULL',
    )
  }
}

/** The version of the engine or of the schema is not supported. */
export class DatabaseVersionError extends DatabaseError {
  /** Always `'TIDEMARK_DATABASE_VERSION'`. */
  declare readonly code: 'TIDEMARK_DATABASE_VERSION'

  constructor(message: string, cause?: unknown) {
    super(message, cause, 'TIDEMARK_DATABASE_VERSION')
  }
}

/** The namespace was loaded from a logical dump of another cluster, so its cursors are invalid. Run `repair`. */
export class DatabaseRestoredError extends DatabaseError {
  /** Always `'TIDEMARK_DATABASE_RESTORED'`. */
  declare readonly code: 'TIDEMARK_DATABASE_RESTORED'

  constructor(where: string) {
    super(
      `The namespace at ${where} was restored from another server: its cursors refer to that server's transaction ` +
        "ids, so messages published here would be skipped. Nothing was changed. Run 'tidemark repair', or " +
        'repair(url), once',
      undefined,
      'TIDEMARK_DATABASE_RESTORED',
    )
  }
}

/** The database has lost commits that this process knows of, or was restored from a copy. */
export class DatabaseRewoundError extends DatabaseError {
  /** Always `'TIDEMARK_DATABASE_REWOUND'`. */
  declare readonly code: 'TIDEMARK_DATABASE_REWOUND'

  constructor(message: string) {
    super(message, undefined, 'TIDEMARK_DATABASE_REWOUND')
  }

  static ofCursor(where: string, topic: string, group: string): DatabaseRewoundError {
    return new DatabaseRewoundError(
      `The cursor of ${groupName(group)} on topic '${topic}' is ahead of the log in the database at ${where}. The ` +
        `group claims nothing, because it would skip newly published messages. Stop its processes and run 'tidemark repair' ` +
        `(PostgreSQL), or set its position with resetGroup`,
    )
  }

  static ofClaim(where: string, topic: string, group: string): DatabaseRewoundError {
    return new DatabaseRewoundError(
      `The database at ${where} lost a claim of ${groupName(group)} on topic '${topic}' before its messages were read. ` +
        `They will be delivered again`,
    )
  }

  static ofTail(where: string, topic: string): DatabaseRewoundError {
    return new DatabaseRewoundError(
      `The database at ${where} was restarted, replaced or restored while topic '${topic}' was tailed, and may have lost ` +
        `messages. Begin a new tail`,
    )
  }
}

/** The namespace no longer exists: it was dropped or created again, or its file was removed or replaced. */
export class NamespaceGoneError extends DatabaseError {
  /** Always `'TIDEMARK_NAMESPACE_GONE'`. */
  declare readonly code: 'TIDEMARK_NAMESPACE_GONE'

  /** `what` completes "The namespace at … was". */
  constructor(where: string, what: string) {
    super(
      `The namespace at ${where} was ${what} while this process had it open. The new namespace was not changed, and ` +
        "this Tidemark can't be used any more. Close it, and open it again to use the new namespace",
      undefined,
      'TIDEMARK_NAMESPACE_GONE',
    )
  }
}

/** A repair requires that no program has the namespace open. */
export class DatabaseInUseError extends DatabaseError {
  /** Always `'TIDEMARK_DATABASE_IN_USE'`. */
  declare readonly code: 'TIDEMARK_DATABASE_IN_USE'
  /** Programs that have it open. */
  readonly users: readonly string[]

  constructor(where: string, users: readonly string[]) {
    super(
      `The namespace at ${where} is in use by ${users.join(', ')}. Stop these processes, then repair it`,
      undefined,
      'TIDEMARK_DATABASE_IN_USE',
    )
    this.users = users
  }
}

/** The clocks of this process and the database differ, so nothing is removed by age. */
export class ClockError extends DatabaseError {
  /** Always `'TIDEMARK_CLOCK'`. */
  declare readonly code: 'TIDEMARK_CLOCK'
  /** Difference in milliseconds. Positive: this process is ahead. */
  readonly offsetMs: number

  constructor(where: string, { offsetMs, isOff, trialMs }: { offsetMs: number; isOff: boolean; trialMs: number }) {
    const minutes = Math.ceil(trialMs / 60_000)
    super(
      isOff
        ? `This process's clock is ${inWords(Math.abs(offsetMs))} ${offsetMs > 0 ? 'ahead of' : 'behind'} the one kept in ` +
            `${where}, so nothing is removed by age. Correct the system clock. If it is right, the database adopts ` +
            'it after 10 minutes in which all processes agree'
        : `The machine was restarted and the clock in ${where} was set forward: nothing is removed by age for ` +
            `another ${minutes} min, in case the system clock is wrong`,
      undefined,
      'TIDEMARK_CLOCK',
    )
    this.offsetMs = offsetMs
  }
}

const UNITS: readonly [ms: number, name: string][] = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
]

function inWords(ms: number): string {
  const [unit, name] = UNITS.find(([unit]) => ms >= unit) ?? [1_000, 's']
  return `${Math.round(ms / unit)} ${name}`
}

/** The given `tx` can't be used: it is not open, or belongs to another database. */
export class TransactionError extends TidemarkError {
  /** Always `'TIDEMARK_TRANSACTION'`. */
  declare readonly code: 'TIDEMARK_TRANSACTION'

  constructor(message: string, cause?: unknown) {
    super('TIDEMARK_TRANSACTION', message, cause)
  }

  /** For an engine with asynchronous statements. */
  static isNotSynchronous(): TransactionError {
    return new TransactionError(
      'publishSync works on SQLite only. Nothing was stored. On this database, await publish() with tx',
    )
  }

  /** A call that would wait for its own caller's transaction. */
  static holdsTheLock(where: string): TransactionError {
    return new TransactionError(
      `A transaction that this process passed to publish as tx is open on ${where} and holds its write lock. Commit ` +
        'it or roll it back before this call',
    )
  }
}
