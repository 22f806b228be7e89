import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { CodedError } from 'tidemark'

/** File of a SQLite database: whether it is still the same as at the first check. */
export class SqliteFile {
  readonly #path: string | undefined
  #identity: string | undefined

  /** Nothing to check for other addresses. */
  constructor(url: string) {
    const path = url.startsWith('sqlite:') ? url.slice('sqlite:'.length) : ':memory:'
    this.#path = path === ':memory:' ? undefined : resolve(path)
  }

  async look(): Promise<void> {
    if (this.#path === undefined) return
    const { dev, ino } = await stat(this.#path)
    const identity = `${dev}:${ino}`
    this.#identity ??= identity
    if (this.#identity !== identity) throw new FileReplacedError(this.#path)
  }
}

/** The database file was replaced while it was open, so what this process writes is invisible to others. */
export class FileReplacedError extends CodedError {
  /** Its name does not follow from its code. */
  override readonly name = 'FileReplacedError'
  constructor(path: string) {
    super(
      'TIDEMARK_DATABASE_REPLACED',
      `${path} is not the file that this process has open. Put the original file back, or restart the process`,
    )
  }
}
