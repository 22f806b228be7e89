import { lstatSync, readlinkSync, realpathSync } from 'node:fs'
import { dirname, sep } from 'node:path'
import { IndexOutsideError } from '../errors.ts'
import { mapError } from './engine-errors.ts'

/**
 * Somebody who can create a link in the folder of the indexes must not be able to have files elsewhere read, written or
 * removed. The folder itself may be a link: that is its owner's choice.
 */
export function requireInside(path: string): void {
  for (const each of [path, `${path}-wal`, `${path}-shm`]) {
    if (!isLink(each)) continue
    const target = targetOf(each)
    if (!target.startsWith(`${realpathSync(dirname(path))}${sep}`)) throw new IndexOutsideError(each, target)
  }
}

function isLink(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true
  } catch (error) {
    // A folder that is missing, or is a file for now, is waited for like an unavailable database.
    throw mapError(error, path)
  }
}

function targetOf(link: string): string {
  try {
    return realpathSync(link)
  } catch {
    // A dangling link: a new file would be created wherever it points.
    return readlinkSync(link)
  }
}
