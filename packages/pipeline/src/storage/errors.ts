import { CodedError } from 'tidemark'

/** The value is not a storage key. */
export class InvalidKeyError extends CodedError {
  /** The value. */
  readonly key: unknown

  constructor(key: unknown, problem: string) {
    const shown = typeof key === 'string' ? JSON.stringify(key.slice(0, 200)) : typeof key
    super('TIDEMARK_INVALID_KEY', `${shown} is not a storage key: ${problem}`)
    this.key = key
  }
}

/** The path leads outside the storage's root through a symbolic link. Nothing there is read or written. */
export class OutsideRootError extends CodedError {
  /** The path. */
  readonly path: string

  constructor(path: string, realPath: string, root: string) {
    super(
      'TIDEMARK_OUTSIDE_ROOT',
      `${path} leads to ${realPath}, outside the storage's root ${root}. Remove the symbolic link, or move the root`,
    )
    this.path = path
  }
}

/** The file is incomplete, was changed, or is not a file of a storage. */
export class CorruptFileError extends CodedError {
  /** Path of the file. */
  readonly file: string

  constructor(file: string, problem: string, cause?: unknown) {
    super('TIDEMARK_CORRUPT_FILE', `${file} ${problem}. Nothing of it was used; quarantine() moves it aside`, cause)
    this.file = file
  }
}

/** The file does not exist. */
export class FileNotFoundError extends CodedError {
  /** Path of the file. */
  readonly file: string

  constructor(
    file: string,
    code = 'TIDEMARK_FILE_NOT_FOUND',
    message = `${file} does not exist. It was never stored here, or it is in quarantine`,
  ) {
    super(code, message)
    this.file = file
  }
}

/** The batch was removed because the run keeps only newer ticks (`keep`). */
export class BatchRemovedError extends FileNotFoundError {
  constructor(file: string) {
    super(file, 'TIDEMARK_BATCH_REMOVED', `${file} was removed: this run keeps only newer ticks (its setting 'keep')`)
  }
}

/** The ticks can't be one batch. Nothing was written. */
export class InvalidBatchError extends CodedError {
  constructor(problem: string) {
    super('TIDEMARK_INVALID_BATCH', `These ticks are not a batch: ${problem}. Nothing was written`)
  }
}

/** A different file is already stored under this key. It was not changed. */
export class ConflictError extends CodedError {
  /** Its name does not follow from its code. */
  override readonly name = 'ConflictError'
  /** Path of the file. */
  readonly file: string

  constructor(file: string) {
    super(
      'TIDEMARK_STORAGE_CONFLICT',
      `${file} exists with other content and was not changed. Compare both before you remove either`,
    )
    this.file = file
  }
}

/** The disk is full. */
export class StorageFullError extends CodedError {
  /** Path of the file. */
  readonly file: string

  constructor(file: string, cause: unknown) {
    super(
      'TIDEMARK_STORAGE_FULL',
      `There is no disk space to write ${file}. The incomplete file was removed. Free space and try again`,
      cause,
    )
    this.file = file
  }
}

/** The server of an object storage does not answer, or is overloaded. */
export class StorageUnreachableError extends CodedError {
  /** The storage. */
  readonly storage: string

  constructor(storage: string, endpoint: string, problem: string, cause?: unknown) {
    super(
      'TIDEMARK_STORAGE_UNREACHABLE',
      `The storage ${storage} at ${endpoint} is unavailable: ${problem}. Check the server and 'endpoint'`,
      cause,
    )
    this.storage = storage
  }
}

/** The server refuses the credentials, or they can't be found. */
export class StorageAccessError extends CodedError {
  /** The storage. */
  readonly storage: string

  constructor(storage: string, problem: string) {
    super(
      'TIDEMARK_STORAGE_ACCESS',
      `The storage ${storage} can't be used: ${problem}. Correct the credentials or their rights; they are read again`,
    )
    this.storage = storage
  }
}

/** The bucket does not exist. */
export class BucketNotFoundError extends CodedError {
  /** The storage. */
  readonly storage: string

  constructor(storage: string, endpoint: string) {
    super(
      'TIDEMARK_STORAGE_BUCKET',
      `The bucket of the storage ${storage} does not exist at ${endpoint}. Create it, or correct 'bucket' or 'endpoint'`,
    )
    this.storage = storage
  }
}

/** The server can't keep what a storage promises, so nothing is stored there. */
export class StorageUnsuitableError extends CodedError {
  /** The storage. */
  readonly storage: string

  constructor(storage: string, endpoint: string, problem: string) {
    super(
      'TIDEMARK_STORAGE_UNSUITABLE',
      `The server ${endpoint} can't keep the storage ${storage}: ${problem}. Without conditional writes (If-None-Match) ` +
        "two writers can replace each other's batches. Use a server or a version that has them",
    )
    this.storage = storage
  }
}

/** The folder of the storage is missing or was replaced, so a missing file means nothing. */
export class StorageAwayError extends CodedError {
  /** Path of the folder. */
  readonly root: string

  constructor(root: string, marker: string, cause: unknown) {
    super(
      'TIDEMARK_STORAGE_AWAY',
      `The storage ${root} is unavailable: its folder '${marker}', which is created when it is opened, is missing. ` +
        'Mount it again, or put the folder back',
      cause,
    )
    this.root = root
  }
}

/** The file system or the server failed. */
export class StorageError extends CodedError {
  /** Path of the file. */
  readonly file: string

  constructor(doing: string, file: string, cause: unknown) {
    // "ENOTDIR: not a directory", without the path that follows: the file is already named.
    const [problem = ''] = (cause as Error).message.split(', ')
    super('TIDEMARK_STORAGE', `${doing} ${file} failed: ${problem}`, cause)
    this.file = file
  }
}

/** An error of the operating system rather than of the content. A folder in a file's place is not cured by waiting. */
export function isSystemError(error: unknown): boolean {
  const { syscall, code } = error as NodeJS.ErrnoException
  return typeof syscall === 'string' && code !== 'EISDIR'
}
