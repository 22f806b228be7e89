import { cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { freshDatabase } from '../databases.ts'
import { type Tarballs, versionOf } from './pack.ts'
import type { Outcome, Result } from './result.ts'
import { type Run, run } from './run-program.ts'
import { dependenciesOf, isOurs, type Manifest, type Scenario } from './scenarios.ts'

/** How a scenario says that it can't run on this machine. */
const SKIPPED = 77

const INSTALL = ['install', '--no-package-lock', '--no-audit', '--no-fund', '--loglevel=error']

/** In a folder of its own, which is removed afterwards: the libraries of all scenarios together fill gigabytes. */
export async function runScenario(scenario: Scenario, tarballs: Tarballs, parent: string): Promise<Result> {
  const folder = join(parent, scenario.name)
  mkdirSync(dirname(folder), { recursive: true })
  cpSync(scenario.folder, folder, { recursive: true })
  try {
    return await installAndRun(scenario, tarballs, folder)
  } finally {
    if (process.env.TIDEMARK_KEEP !== '1') rmSync(folder, { recursive: true, force: true })
  }
}

async function installAndRun(scenario: Scenario, tarballs: Tarballs, folder: string): Promise<Result> {
  const result = (outcome: Outcome, reason: string): Result => {
    const { name, proves } = scenario
    return { name, proves, versions: versionsShown(scenario, folder), outcome, reason }
  }
  // What others publish may not install here, which is no fault of ours; what we publish must.
  writeManifest(folder, withoutOurs(scenario.manifest))
  const foreign = run('npm', INSTALL, folder)
  if (foreign.code !== 0) return result('skipped', `its libraries do not install here: ${lastLine(foreign)}`)
  writeManifest(folder, withTarballs(scenario.manifest, tarballs))
  const ours = run('npm', INSTALL, folder)
  if (ours.code !== 0) return result('failed', `the tarballs do not install:\n${ours.output}`)
  const { code, output, last } = await runScript(scenario, folder)
  if (code === 0) return result('passed', '')
  if (code === SKIPPED) return result('skipped', last)
  return result('failed', `exit code ${code}:\n${output}`)
}

async function runScript(scenario: Scenario, folder: string): Promise<Run & { readonly last: string }> {
  await using database = scenario.postgres ? await freshDatabase() : undefined
  const env = database && { TIDEMARK_TEST_POSTGRES_URL: database.url }
  const ran = run('npm', ['run', '--silent', scenario.script], folder, env)
  return { ...ran, last: lastLine(ran) }
}

const lastLine = ({ output }: Run): string => output.trim().split('\n').at(-1) ?? ''

function writeManifest(folder: string, manifest: Manifest): void {
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest, null, 2))
}

function withoutOurs(manifest: Manifest): Manifest {
  return eachDependency(manifest, entries => entries.filter(([name]) => !isOurs(name)))
}

function withTarballs(manifest: Manifest, tarballs: Tarballs): Manifest {
  const changed = eachDependency(manifest, entries =>
    entries.map(([name, version]) => [name, isOurs(name) ? `file:${tarballOf(name, tarballs)}` : version]),
  )
  // What ours depend on of ours is in no registry.
  const direct = dependenciesOf(manifest)
  const others = [...tarballs].filter(([name]) => direct[name] === undefined)
  return { ...changed, overrides: Object.fromEntries(others.map(([name, file]) => [name, `file:${file}`])) }
}

function tarballOf(name: string, tarballs: Tarballs): string {
  const tarball = tarballs.get(name)
  if (tarball === undefined) throw new Error(`No package of this repository is named '${name}'`)
  return tarball
}

type Entries = [string, string][]

function eachDependency(manifest: Manifest, change: (entries: Entries) => Entries): Manifest {
  const changed = { ...manifest, dependencies: Object.fromEntries(change(Object.entries(manifest.dependencies ?? {}))) }
  if (manifest.devDependencies === undefined) return changed
  return { ...changed, devDependencies: Object.fromEntries(change(Object.entries(manifest.devDependencies))) }
}

/** As installed; as asked for where it was not. */
function versionsShown({ manifest, shows }: Scenario, folder: string): string {
  const all = Object.entries(dependenciesOf(manifest)).filter(([name]) => !isOurs(name))
  const shown = all.filter(([name]) => shows?.includes(name) ?? true)
  const versions = shown.map(([name, version]) => {
    const file = join(folder, 'node_modules', name, 'package.json')
    return `${name} ${existsSync(file) ? versionOf(file) : version}`
  })
  return [...versions, ...(shown.some(([name]) => name === 'node') ? [] : [`node ${process.versions.node}`])].join(', ')
}
