import { mkdir, realpath } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { OutsideRootError } from '../errors.ts'
import { syncFolder } from './durable-file.ts'
import { isMissing } from './missing.ts'

/**
 * The storage's folder. Keys were validated before they come here; what is left are symbolic links, so every path is
 * followed to where it really leads before anything is read or written there.
 */
export class SafePaths {
  readonly root: string

  private constructor(root: string) {
    this.root = root
  }

  static async open(root: string): Promise<SafePaths> {
    await mkdir(root, { recursive: true })
    return new SafePaths(await realpath(root))
  }

  /** Where an existing path really is; undefined where there is none. */
  async existing(path: string): Promise<string | undefined> {
    const full = join(this.root, path)
    try {
      return this.#inside(full, await realpath(full))
    } catch (error) {
      if (isMissing(error)) return undefined
      throw error
    }
  }

  /** Makes a folder level by level, durably, never through a link that leaves the root. Returns where it really is. */
  async makeFolder(path: string): Promise<string> {
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
    await mkdir(folder)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}
