import { mkdir, realpath, stat } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { CodedError } from 'tidemark'
import { PRIVATE_FOLDER } from '../../private-files.ts'
import { OutsideRootError, StorageAwayError, StorageError } from '../errors.ts'
import { syncFolder } from './durable-file.ts'
import { isMissing } from './missing.ts'

/**
 * Folder of files being written; it also distinguishes the storage's folder from an empty one in its place. It is not a
 * run id, so not a run.
 */
const MARKER = '.incoming'

/**
 * The storage's folder. Keys are validated before; what remains are symbolic links, so every path is resolved before
 * anything is read or written there.
 */
export class SafePaths {
  readonly root: string

  private constructor(root: string) {
    this.root = root
  }

  static async open(root: string): Promise<SafePaths> {
    await mkdir(root, { recursive: true, mode: PRIVATE_FOLDER })
    const paths = new SafePaths(await realpath(root))
    await paths.#make(MARKER)
    return paths
  }

  /** Folder of files being written. */
  get incoming(): string {
    return join(this.root, MARKER)
  }

  /** Rejects with `StorageAwayError` if the root is not what it was: a missing mount leaves an empty folder. */
  async requireRoot(): Promise<void> {
    try {
      await stat(this.incoming)
    } catch (error) {
      throw isMissing(error)
        ? new StorageAwayError(this.root, MARKER, error)
        : new StorageError('Looking at', this.root, error)
    }
  }

  /** The real path of an existing file; undefined if it does not exist in an existing root. */
  async existing(path: string): Promise<string | undefined> {
    const found = await this.#find(path)
    if (found !== undefined) return found
    await this.requireRoot()
    // Once more: the root may have come back between the two.
    return await this.#find(path)
  }

  /** Creates a folder level by level, durably, never through a link that leaves the root. Returns its real path. */
  async makeFolder(path: string): Promise<string> {
    await this.requireRoot()
    return await this.#make(path)
  }

  async #find(path: string): Promise<string | undefined> {
    const full = join(this.root, path)
    try {
      return this.#inside(full, await realpath(full))
    } catch (error) {
      if (isMissing(error)) return undefined
      throw error instanceof CodedError ? error : new StorageError('Looking for', path, error)
    }
  }

  async #make(path: string): Promise<string> {
    let folder = this.root
    for (const name of path.split('/')) {
      const next = join(folder, name)
      const isNew = await makeOne(next)
      if (isNew) await syncFolder(folder)
      folder = this.#inside(next, await realpath(next))
    }
    return folder
  }

  #inside(path: string, realPath: string): string {
    if (realPath.startsWith(`${this.root}${sep}`)) return realPath
    throw new OutsideRootError(path, realPath, this.root)
  }
}

async function makeOne(folder: string): Promise<boolean> {
  try {
    await mkdir(folder, { mode: PRIVATE_FOLDER })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}
