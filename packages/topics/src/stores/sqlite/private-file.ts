import { closeSync, existsSync, lstatSync, mkdirSync, openSync, readlinkSync, realpathSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

const ONLY_OWNER = { folder: 0o700, file: 0o600 } as const

/**
 * Creates a database file and its folders if they are missing, readable by their owner alone; SQLite gives its -wal and
 * -shm files the same mode. Existing ones keep their mode and are not even opened: closing one would release the locks
 * that this process has on it. Returns the topmost folder that it created.
 */
export function createPrivateFile(path: string): string | undefined {
  const made = mkdirSync(dirname(path), { recursive: true, mode: ONLY_OWNER.folder })
  try {
    closeSync(openSync(endOfLinks(path), 'wx', ONLY_OWNER.file))
  } catch {
    // It exists; or it cannot be created, which SQLite reports in more detail when it opens it.
  }
  return made
}

/** Where SQLite will create the file: a link may lead to one that does not exist yet. */
function endOfLinks(path: string): string {
  let end = path
  for (let links = 0; links < 40 && !existsSync(end) && isLink(end); links++)
    end = resolve(dirname(end), readlinkSync(end))
  return end
}

const isLink = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true

/** The database's folder, and the folders above it that are new. */
export function foldersOf(realPath: string, firstMade: string | undefined): string[] {
  const folders = [dirname(realPath)]
  if (firstMade === undefined) return folders
  const last = dirname(realpathSync(firstMade))
  for (let folder = folders[0] ?? last; folder !== last; ) {
    folder = dirname(folder)
    folders.push(folder)
  }
  return folders
}
