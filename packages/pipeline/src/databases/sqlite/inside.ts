import { lstatSync, readlinkSync, realpathSync } from 'node:fs'
import { dirname, sep } from 'node:path'
import { IndexOutsideError } from '../errors.ts'
import { mapError } from './engine-errors.ts'

/**
 * Whoever can make a link in the folder of the indexes must not have files elsewhere read, written or removed through
 * it. The folder itself may be a link: that is its owner's choice.
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
    // A folder that is not there, or is a file for now, is waited for like a database that is away.
    throw mapError(error, path)
  }
}

function targetOf(link: string): string {
  try {
    return realpathSync(link)
  } catch {
    // It leads nowhere yet; what is made through it would be wherever it says.
    return readlinkSync(link)
  }
}
