import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'

export type TreeSize = { readonly bytes: number; readonly files: number }

type Folder = {
  readonly mtimeMs: number
  /** Too young to be trusted: something may come within the same tick of the file system's clock. */
  readonly isYoung: boolean
  readonly folders: readonly string[]
  readonly files: number
  readonly bytes: number
  /** Sizes by name: a file that has its name does not change any more. null: nothing happens there, so none are kept. */
  readonly sizes: ReadonlyMap<string, number> | null
}

/** Files are written in place there, so that the folder's time says nothing. */
const ALWAYS_READ = '.incoming'
const YOUNG_MS = 2_000
/** Nothing has happened for this long: should something happen after all, all of its files are looked at again. */
const QUIET_MS = 60_000

/**
 * The size of a folder with all that is in it. A folder is read again only when its own time has changed, and of its files
 * only new ones are looked at: the second look at a run of a million ticks costs ten calls, not ten thousand.
 */
export class MeasuredTree {
  readonly #root: string
  #folders = new Map<string, Folder>()

  constructor(root: string) {
    this.#root = root
  }

  async measure(): Promise<TreeSize> {
    const before = this.#folders
    this.#folders = new Map()
    let bytes = 0
    let files = 0
    for (const waiting = [this.#root]; waiting.length > 0; ) {
      const path = waiting.pop() as string
      const folder = await this.#look(path, before.get(path))
      if (folder === undefined) continue
      this.#folders.set(path, folder)
      bytes += folder.bytes
      files += folder.files
      for (const name of folder.folders) waiting.push(join(path, name))
    }
    return { bytes, files }
  }

  async #look(path: string, known: Folder | undefined): Promise<Folder | undefined> {
    const now = Date.now()
    const found = await unlessMissing(lstat(path))
    if (found === undefined || !found.isDirectory()) return undefined
    const { mtimeMs } = found
    const isAlwaysRead = path.endsWith(ALWAYS_READ)
    const isQuiet = now - mtimeMs > QUIET_MS
    if (known !== undefined && known.mtimeMs === mtimeMs && !known.isYoung && !isAlwaysRead) {
      return isQuiet ? { ...known, sizes: null } : known
    }
    const entries = (await unlessMissing(readdir(path, { withFileTypes: true }))) ?? []
    const sizes = new Map<string, number>()
    const folders: string[] = []
    let bytes = 0
    for (const entry of entries) {
      if (entry.isDirectory()) folders.push(entry.name)
      else {
        const size = isAlwaysRead ? undefined : known?.sizes?.get(entry.name)
        const measured = size ?? (await unlessMissing(lstat(join(path, entry.name))))?.size
        if (measured === undefined) continue
        sizes.set(entry.name, measured)
        bytes += measured
      }
    }
    const isYoung = now - mtimeMs < YOUNG_MS
    return { mtimeMs, isYoung, folders, files: sizes.size, bytes, sizes: isQuiet ? null : sizes }
  }
}

/** What goes while it is looked at is not there. */
async function unlessMissing<T>(look: Promise<T>): Promise<T | undefined> {
  try {
    return await look
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw error
  }
}
