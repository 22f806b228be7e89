import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Plugin } from 'rolldown'

/** What a module of the sources says to get the .sql files below its folder, by their paths. */
const SQL_FILES = "readSqlFiles(new URL('.', import.meta.url))"

/**
 * Puts into the JavaScript what the sources read from files beside them: a bundle of a program has no such files beside it.
 * Made at every build and never stored, so it is always current.
 */
export function inlineFiles(folder: string): Plugin {
  const { version }: { readonly version: string } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  return {
    name: 'inline-files',
    load(id) {
      if (id === join(folder, 'src/version.ts')) return `export const VERSION = ${JSON.stringify(version)}`
      const code = readFileSync(id, 'utf8')
      return code.includes(SQL_FILES) ? code.replace(SQL_FILES, () => JSON.stringify(sqlFilesOf(dirname(id)))) : null
    },
  }
}

function sqlFilesOf(folder: string): Record<string, string> {
  const paths = globSync('**/*.sql', { cwd: folder }).sort()
  if (paths.length === 0) throw new Error(`There are no .sql files in ${folder}`)
  return Object.fromEntries(paths.map(path => [path, readFileSync(join(folder, path), 'utf8')]))
}
