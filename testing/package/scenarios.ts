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
 *
 * The projects in examples/projects/ are scenarios too: "description" says what they show, and their script "test" is run.
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
  /** The script to run. */
  readonly script: 'scenario' | 'test'
}

export type Manifest = {
  readonly description?: string
  readonly dependencies?: { readonly [name: string]: string }
  readonly devDependencies?: { readonly [name: string]: string }
  readonly overrides?: { readonly [name: string]: string }
  readonly scripts?: { readonly scenario?: string; readonly test?: string }
  readonly scenario?: { readonly proves?: string; readonly postgres?: boolean; readonly shows?: readonly string[] }
}

const FOLDER = join(import.meta.dirname, 'scenarios')
const EXAMPLES = join(import.meta.dirname, '../../examples/projects')

/** A dependency on one of our own packages. A scenario's manifest says 'packed', an example's the version that users install. */
export const isOurs = (name: string): boolean => name === 'tidemark' || name.startsWith('@tidemark/')

/** Those with one of the words in their names; all where no word is given. */
export function chooseScenarios(words: readonly string[]): Scenario[] {
  const all = [
    ...namesIn(FOLDER).map(name => readScenario(name, join(FOLDER, name), 'scenario')),
    ...namesIn(EXAMPLES).map(name => readScenario(`example/${name}`, join(EXAMPLES, name), 'test')),
  ].sort((a, b) => a.name.localeCompare(b.name, 'en'))
  const unknown = words.find(word => !all.some(({ name }) => name.includes(word)))
  if (unknown !== undefined) {
    throw new Error(`No scenario has '${unknown}' in its name. There are: ${all.map(({ name }) => name).join(', ')}`)
  }
  return words.length === 0 ? all : all.filter(({ name }) => words.some(word => name.includes(word)))
}

const namesIn = (cwd: string): string[] =>
  globSync('**/package.json', { cwd, exclude: ['**/node_modules/**', '**/.next/**'] }).map(dirname)

function readScenario(name: string, folder: string, script: Scenario['script']): Scenario {
  const manifest: Manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const { proves = manifest.description, postgres = false, shows } = manifest.scenario ?? {}
  if (proves === undefined || manifest.scripts?.[script] === undefined) {
    throw new Error(`${folder}/package.json needs "scenario": { "proves": "…" } and a script named "${script}"`)
  }
  const loose = Object.entries(dependenciesOf(manifest)).find(
    ([, version]) => !/^(packed|(npm:[^@]+@)?\d+\.\d+\.\d+.*)$/.test(version),
  )
  if (loose) throw new Error(`${folder}/package.json: '${loose[0]}' needs an exact version, not '${loose[1]}'`)
  return { name, folder, proves, postgres, shows, manifest, script }
}

export const dependenciesOf = (manifest: Manifest): { readonly [name: string]: string } => ({
  ...manifest.dependencies,
  ...manifest.devDependencies,
})
