/**
 * npm run sizes [-- folder]: how many packages, files and bytes an installation has, of the tarballs in `folder` (made with
 * `npm pack --workspaces`, of whatever commit) or of this tree.
 */
import { globSync, lstatSync, mkdirSync, writeFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { temporaryFolder } from '../folders.ts'
import { packAll, type Tarballs } from './pack.ts'
import { runOrThrow } from './run-program.ts'

/** What a user would install, each as npm is asked for it. */
const INSTALLATIONS: { readonly [title: string]: readonly string[] } = {
  'library on SQLite': ['tidemark'],
  'library on PostgreSQL': ['tidemark', 'pg'],
  'library on NATS JetStream': ['@tidemark/jetstream', 'tidemark'],
  'command alone': ['@tidemark/cli', 'tidemark'],
  'command with pipeline and server': ['@tidemark/cli', '@tidemark/server', '@tidemark/pipeline', 'tidemark'],
}

const PG = '8.23.1'

process.env.TIDEMARK_ON_DISK = '1'
using folder = temporaryFolder()
const [given] = process.argv.slice(2)
const tarballs = given === undefined ? packAll(folder.path) : tarballsIn(resolve(given))
console.log('| installation | packages | files | kB |\n| --- | --- | --- | --- |')
for (const [title, names] of Object.entries(INSTALLATIONS)) {
  const { packages, files, bytes } = measure(join(folder.path, title.replaceAll(' ', '-')), names)
  console.log(`| ${title} | ${packages} | ${files} | ${Math.round(bytes / 1_000)} |`)
}

function tarballsIn(path: string): Tarballs {
  const files = globSync('*.tgz', { cwd: path })
  // tidemark-0.1.0.tgz, tidemark-cli-0.1.0.tgz
  return new Map(
    files.map(file => {
      const [, scoped] = /^tidemark-([a-z]+)-\d/.exec(basename(file)) ?? []
      return [scoped === undefined ? 'tidemark' : `@tidemark/${scoped}`, join(path, file)]
    }),
  )
}

function measure(path: string, names: readonly string[]): { packages: number; files: number; bytes: number } {
  mkdirSync(path)
  const dependencies = Object.fromEntries(names.map(name => [name, name === 'pg' ? PG : `file:${tarballs.get(name)}`]))
  // A manifest of before may depend on the others by name, which no registry knows.
  const overrides = Object.fromEntries(
    Object.entries(Object.fromEntries(tarballs)).map(([name, file]) => [
      name,
      names.includes(name) ? `$${name}` : `file:${file}`,
    ]),
  )
  writeFileSync(join(path, 'package.json'), JSON.stringify({ private: true, dependencies, overrides }))
  runOrThrow('npm', ['install', '--no-package-lock', '--no-audit', '--no-fund', '--loglevel=error'], path)
  const installed = globSync('**/*', { cwd: join(path, 'node_modules'), withFileTypes: true }).filter(entry =>
    entry.isFile(),
  )
  const sizes = installed.map(entry => lstatSync(join(entry.parentPath, entry.name)).size)
  return { packages: countPackages(path), files: sizes.length, bytes: sizes.reduce((sum, size) => sum + size, 0) }
}

function countPackages(path: string): number {
  const manifests = globSync('**/node_modules/{*,@*/*}/package.json', { cwd: path })
  return manifests.length
}
