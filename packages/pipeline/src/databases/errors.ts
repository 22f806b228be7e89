import { CodedError } from 'tidemark'

/** A problem of an index database. */
export class IndexDatabaseError extends CodedError {
  constructor(message: string, cause?: unknown, code = 'TIDEMARK_INDEX_DATABASE') {
    super(code, message, cause)
  }
}

/** The database, its disk or its credentials fail, whatever is written to it. */
export class IndexUnavailableError extends IndexDatabaseError {
  constructor(message: string, cause?: unknown) {
    super(message, cause, 'TIDEMARK_INDEX_UNAVAILABLE')
  }
}

/** The index was dropped, or its file replaced, while it was open. Open it again to continue. */
export class IndexGoneError extends IndexDatabaseError {
  constructor(where: string, cause?: unknown) {
    super(
      `The index at ${where} was dropped or replaced while it was open. Put it back, or let it be built again`,
      cause,
      'TIDEMARK_INDEX_GONE',
    )
  }
}

/** No connection to the index database could be made. */
export class IndexUnreachableError extends IndexDatabaseError {
  constructor(where: string, cause?: unknown, advice = 'Check that the server runs and the address is right') {
    super(
      `Can't reach the index database at ${where}. ${advice}. ` +
        `A write in progress may or may not have been stored; repeating it is safe`,
      cause,
      'TIDEMARK_INDEX_UNREACHABLE',
    )
  }
}

/** There is no server: the file or its folder is missing. */
export class IndexFileAwayError extends IndexUnreachableError {
  /** Its name does not follow from its code. */
  override readonly name = 'IndexFileAwayError'
  constructor(path: string, cause?: unknown) {
    super(path, cause, 'Put the file or folder back, or mount its disk again')
  }
}

/** Another writer held the index database for too long. */
export class IndexLockedError extends IndexDatabaseError {
  constructor(where: string, waitedMs: number, cause?: unknown) {
    super(
      `The index database at ${where} was in use by another process for ${waitedMs} ms. ` +
        `End the transaction or the process that holds it, or raise busyTimeout`,
      cause,
      'TIDEMARK_INDEX_LOCKED',
    )
  }
}

/** The disk of the index database is full. */
export class IndexFullError extends IndexDatabaseError {
  constructor(where: string, cause?: unknown) {
    super(
      `The index database at ${where} is full. Free disk space (or raise its size limit); ` +
        `this transaction stored nothing`,
      cause,
      'TIDEMARK_INDEX_FULL',
    )
  }
}

/** The index database can't be written to. */
export class IndexReadOnlyError extends IndexDatabaseError {
  constructor(where: string, cause?: unknown) {
    super(
      `The index database at ${where} is read-only. Give this process write access to the file and its folder, ` +
        `or connect to the primary server`,
      cause,
      'TIDEMARK_INDEX_READ_ONLY',
    )
  }
}

/** The index was opened for reading and can't be written to. */
export class IndexReadingError extends IndexDatabaseError {
  constructor(where: string) {
    super(
      `The index database at ${where} was opened for reading only. Open it with openIndex() to write to it`,
      undefined,
      'TIDEMARK_INDEX_READING',
    )
  }
}

/** The version of the engine or of the index's schema is not supported. */
export class IndexVersionError extends IndexDatabaseError {
  constructor(message: string) {
    super(message, undefined, 'TIDEMARK_INDEX_VERSION')
  }
}

/** The run has no index. */
export class IndexNotFoundError extends IndexDatabaseError {
  /** Id of the run. */
  readonly runId: string

  constructor(runId: string, where: string) {
    super(
      `There is no index of run ${runId} at ${where}. List the runs that have one with listIndexedRuns(), ` +
        `or open it with create: true`,
      undefined,
      'TIDEMARK_INDEX_NOT_FOUND',
    )
    this.runId = runId
  }
}

/** The file of the index is a symbolic link to another place. Nothing there is read, written or removed. */
export class IndexOutsideError extends IndexDatabaseError {
  constructor(path: string, target: string) {
    super(
      `${path} is a symbolic link to ${target}, outside the folder of the indexes. Remove the link, or move the file here`,
      undefined,
      'TIDEMARK_INDEX_OUTSIDE',
    )
  }
}

/** An indexed tick is damaged. */
export class IndexedTickError extends IndexDatabaseError {
  /** Its name does not follow from its code. */
  override readonly name = 'IndexedTickError'
  /** Number of the tick. */
  readonly tick: number

  constructor(runId: string, tick: number, cause: Error) {
    super(
      `Tick ${tick} of run ${runId} is damaged in the index: ${cause.message}. Index its batch again`,
      cause,
      'TIDEMARK_INDEX_TICK',
    )
    this.tick = tick
  }
}

/** The tick was removed from the index because the run keeps only newer ticks (`keep`). */
export class TickRemovedError extends IndexDatabaseError {
  /** Number of the tick. */
  readonly tick: number

  constructor(runId: string, tick: number, { tickStart, tickEnd }: { tickStart: number; tickEnd: number }) {
    super(
      `Tick ${tick} of run ${runId} was removed, with all from ${tickStart} to ${tickEnd}: the run keeps only newer ticks ` +
        `(its setting 'keep')`,
      undefined,
      'TIDEMARK_TICK_REMOVED',
    )
    this.tick = tick
  }
}

/** A transaction was begun inside another one, which would wait for it forever. */
export class NestedTransactionError extends IndexDatabaseError {
  /** Its name does not follow from its code. */
  override readonly name = 'NestedTransactionError'
  constructor(where: string) {
    super(
      `A transaction on the index database at ${where} was begun inside another one. ` +
        `Use the open transaction: pass it as { tx }`,
      undefined,
      'TIDEMARK_INDEX_NESTED_TRANSACTION',
    )
  }
}
