import { access, constants, mkdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { CodedError } from 'tidemark'
import { PRIVATE_FOLDER } from '../private-files.ts'

const NAME = 'in-use.lock'

/** Another process uses the folder. */
export class FolderInUseError extends CodedError {
  /** Path of the folder. */
  readonly folder: string

  constructor(folder: string) {
    super(
      'TIDEMARK_FOLDER_IN_USE',
      `${folder} is in use by another process, or by another service of this one. Stop it first, or ` +
        `use another folder`,
    )
    this.folder = folder
  }
}

/** The folder can't be created or written to. */
export class FolderUnusableError extends CodedError {
  /** Path of the folder. */
  readonly folder: string

  constructor(folder: string, cause: unknown) {
    const { code = 'unknown' } = cause as NodeJS.ErrnoException
    super(
      'TIDEMARK_FOLDER_UNUSABLE',
      `${folder} can't be written to (${code}). Give this user write access, or choose another folder`,
      cause,
    )
    this.folder = folder
  }
}

/** Locks the folder until it is released; the lock of a killed process is released, too. */
export async function lockFolder(given: string): Promise<Disposable> {
  const folder = resolve(given)
  try {
    await mkdir(folder, { recursive: true, mode: PRIVATE_FOLDER })
    await access(folder, constants.W_OK)
  } catch (error) {
    throw new FolderUnusableError(folder, error)
  }
  const { lockFile } = await import('./sqlite/file-lock.ts')
  const lock = lockFile(join(folder, NAME))
  if (lock === null) throw new FolderInUseError(folder)
  return lock
}

/** Several folders that are released together. Node 22 has no DisposableStack. */
export class FolderLocks implements Disposable {
  #locks: Disposable[] = []

  async lock(folder: string): Promise<void> {
    this.#locks.push(await lockFolder(folder))
  }

  /** Transfers the locks to a new object: this one no longer releases them. */
  move(): FolderLocks {
    const moved = new FolderLocks()
    moved.#locks = this.#locks
    this.#locks = []
    return moved
  }

  [Symbol.dispose](): void {
    for (const lock of this.#locks.splice(0)) lock[Symbol.dispose]()
  }
}
