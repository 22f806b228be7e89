/**
 * A scenario is a folder in scenarios/ (its name may have levels: `orm/drizzle`) with a package.json:
 *
 *   {
 *     "private": true, "type": "module",
 *     "scripts": { "scenario": "node main.ts" },                        what is run; exit code 0 means passed
 *     "dependencies": { "tidemark": "packed", "drizzle-orm": "0.45.1" }, "packed": the tarball; others exact versions, also npm:name@version
 *     "scenario": { "proves": "…", "postgres": true, "shows": ["drizzle-orm"] }
 *   }
 *
 * With `postgres`, TIDEMARK_TEST_POSTGRES_URL is the address of an empty database. `shows` names the libraries whose versions
 * the table gives (default: all that are not ours). A scenario that can't run on this machine exits with code 77; the last line
 * it printed says why. The folder is copied out of the repository, so it can import nothing from it.
 */
import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

export type Scenario = {
  readonly name: string
  readonly folder: string
  /** One line for the table. */
  readonly proves: string
  readonly postgres: boolean
  readonly shows: readonly string[] | undefined
  readonly manifest: Manifest
}

export type Manifest = {
  readonly dependencies?: { readonly [name: string]: string }
  readonly devDependencies?: { readonly [name: string]: string }
  readonly scripts?: { readonly scenario?: string }
  readonly scenario?: { readonly proves?: string; readonly postgres?: boolean; readonly shows?: readonly string[] }
}

const FOLDER = join(import.meta.dirname, 'scenarios')

/** What a dependency on one of our own packages says in a scenario's manifest. */
export const PACKED = 'packed'

/** Those with one of the words in their names; all where no word is given. */
export function chooseScenarios(words: readonly string[]): Scenario[] {
  const all = globSync('**/package.json', { cwd: FOLDER, exclude: ['**/node_modules/**'] })
    .map(file => readScenario(dirname(file)))
    .sort((a, b) => a.name.localeCompare(b.name, 'en'))
  const unknown = words.find(word => !all.some(({ name }) => name.includes(word)))
  if (unknown !== undefined) {
    throw new Error(`No scenario has '${unknown}' in its name. There are: ${all.map(({ name }) => name).join(', ')}`)
  }
  return words.length === 0 ? all : all.filter(({ name }) => words.some(word => name.includes(word)))
}

function readScenario(name: string): Scenario {
  const folder = join(FOLDER, name)
  const manifest: Manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const { proves, postgres = false, shows } = manifest.scenario ?? {}
  if (proves === undefined || manifest.scripts?.scenario === undefined) {
    throw new Error(`${folder}/package.json needs "scenario": { "proves": "…" } and a script named "scenario"`)
  }
  const loose = Object.entries(dependenciesOf(manifest)).find(
    ([, version]) => !/^(packed|(npm:[^@]+@)?\d+\.\d+\.\d+.*)$/.test(version),
  )
  if (loose) throw new Error(`${folder}/package.json: '${loose[0]}' needs an exact version, not '${loose[1]}'`)
  return { name, folder, proves, postgres, shows, manifest }
}

export const dependenciesOf = (manifest: Manifest): { readonly [name: string]: string } => ({
  ...manifest.dependencies,
  ...manifest.devDependencies,
})
