/** A copy of the working tree in a temporary folder, with defects in it. The tree itself is never touched. */
import { execFileSync } from 'node:child_process'
import {
  cpSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { createFolder, removeFolder, type TemporaryFolder } from '../../folders.ts'
import type { Mutant } from './list.ts'

const ROOT = join(import.meta.dirname, '../../..')
const COPIED = ['package.json', 'packages', 'testing', 'tsconfig.json']

export function copySources(edits: Mutant['edits']): TemporaryFolder {
  const folder = createFolder('tidemark-chaos-mutant')
  try {
    copyFiles(folder)
    linkModules(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
    for (const edit of edits) apply(folder, edit)
    return { path: folder, [Symbol.dispose]: () => removeFolder(folder) }
  } catch (error) {
    removeFolder(folder)
    throw error
  }
}

/** What git knows or would know: neither builds nor results. */
function copyFiles(folder: string): void {
  const args = ['ls-files', '--cached', '--others', '--exclude-standard', '-z', ...COPIED]
  const files = execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', maxBuffer: 1e8 }).split('\0')
  for (const file of new Set(files)) {
    if (file === '' || lstatSync(join(ROOT, file), { throwIfNoEntry: false }) === undefined) continue
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    cpSync(join(ROOT, file), join(folder, file))
  }
}

/** Installed packages are shared; links to packages of the workspace lead to their copies. */
function linkModules(from: string, to: string): void {
  mkdirSync(to, { recursive: true })
  for (const name of readdirSync(from)) {
    const path = join(from, name)
    if (name.startsWith('@')) linkModules(path, join(to, name))
    else symlinkSync(lstatSync(path).isSymbolicLink() ? readlinkSync(path) : path, join(to, name))
  }
}

function apply(folder: string, { file, from, to }: Mutant['edits'][number]): void {
  const path = join(folder, file)
  const source = readFileSync(path, 'utf8')
  if (source.split(from).length !== 2) throw new Error(`A mutant expects to find this once in ${file}: ${from}`)
  writeFileSync(
    path,
    source.replace(from, () => to),
  )
}
