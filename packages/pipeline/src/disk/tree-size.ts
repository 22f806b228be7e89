import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'

export type TreeSize = { readonly bytes: number; readonly files: number }

type Folder = {
  readonly mtimeMs: number
  /** Too recent to be trusted: something may change within the same tick of the file system's clock. */
  readonly isYoung: boolean
  readonly folders: readonly string[]
  readonly files: number
  readonly bytes: number
  /** Sizes by name: a file does not change once it has its name. null: the folder does not change, so none are kept. */
  readonly sizes: ReadonlyMap<string, number> | null
}

/** Files in it are written in place, so the folder's modification time is meaningless. */
const ALWAYS_READ = '.incoming'
const YOUNG_MS = 2_000
/** Nothing has changed for this long. If something does, all of its files are measured again. */
const QUIET_MS = 60_000

/**
 * Size of a folder with its content. A folder is read again only if its modification time has changed, and then only
 * new files are measured: the second measurement of a run of a million ticks takes ten calls, not ten thousand.
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

/** A file that disappears while it is measured does not count. */
async function unlessMissing<T>(look: Promise<T>): Promise<T | undefined> {
  try {
    return await look
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw error
  }
}
