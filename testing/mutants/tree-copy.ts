/**
 * A copy of the working files to break. Installed packages are links to the original's, except the workspace's own:
 * node resolves a link to its target, so a link to the whole node_modules would load the original's sources.
 */
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  symlinkSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { createFolder, fastFolder, removeFolder } from '../folders.ts'

export type TreeCopy = Disposable & { readonly root: string }

export function copyTree(root: string): TreeCopy {
  const copy = createFolder('tidemark-mutants', fastFolder())
  // Some tests run programs from it as a user without rights.
  chmodSync(copy, 0o755)
  for (const file of workingFiles(root)) {
    mkdirSync(dirname(join(copy, file)), { recursive: true })
    copyFileSync(join(root, file), join(copy, file))
  }
  linkPackages(join(root, 'node_modules'), join(copy, 'node_modules'))
  return { root: copy, [Symbol.dispose]: () => removeFolder(copy) }
}

/** Those that git knows or would add, as they are now. */
function workingFiles(root: string): string[] {
  const args = ['ls-files', '-z', '--cached', '--others', '--exclude-standard']
  const listed = execFileSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 64 * 2 ** 20 }).split('\0')
  return [...new Set(listed)].filter(file => file !== '' && existsSync(join(root, file)))
}

function linkPackages(from: string, to: string): void {
  mkdirSync(to)
  for (const entry of readdirSync(from)) {
    const path = join(from, entry)
    if (lstatSync(path).isSymbolicLink()) symlinkSync(readlinkSync(path), join(to, entry))
    else if (entry.startsWith('@')) linkPackages(path, join(to, entry))
    else symlinkSync(path, join(to, entry))
  }
}
