/**
 * npm test [-- files, filters and flags]: node's test runner, with one real PostgreSQL for all test files.
 *
 *   npm test                                    everything
 *   npm test -- postgres claim                  the files with 'postgres' or 'claim' in their path
 *   npm test -- --test-name-pattern=stale       node's own flags, as they are
 *   npm run test:web [-- connection]            the page in a real browser, all journeys on both engines
 *   npm run test:fast                           without the slow files, and the conformance suites on SQLite only, in less
 *                                               than a minute
 *   npm run test:web                            the page in a browser: every journey, on both engines
 *
 * Where everything was run and a few files failed, those are run once more, one at a time: on a busy machine a test can
 * fail that is right. What passes only then is named at the end, since such a test is a defect of its own.
 *
 * TIDEMARK_TEST_DISTURBED=1 keeps transactions of somebody else open on the server (see disturbance.ts).
 *
 * TIDEMARK_TEST_POSTGRES_BIN names a folder of other PostgreSQL binaries, such as /usr/lib/postgresql/15/bin;
 * TIDEMARK_TEST_POSTGRES_URL names a server of yours to use instead; TIDEMARK_KEEP=1 keeps the tests' folders.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { availableParallelism, constants } from 'node:os'
import { join } from 'node:path'
import { shareBrowser } from '../packages/web/test/browser/shared-browser.ts'
import { disturb } from './disturbance.ts'
import { temporaryFolder } from './folders.ts'
import { startPostgres } from './postgres-server.ts'
import { shareObjectStore, skipWithoutRadosgw } from './radosgw.ts'
import { shareCluster } from './shared-cluster.ts'
import { shareProcesses } from './shared-processes.ts'
import { SLOW_TESTS } from './slow-tests.ts'
import { createTemplate, warmTemplate } from './template-database.ts'
import { unwatchProcess, watchProcess } from './watchdog.ts'

/** A run starts hundreds of processes; the pipeline's modules took each 0.6 s to load, and take 0.3 s with this. */
const NODE_COMPILE_CACHE = `${import.meta.dirname}/../node_modules/.cache/tidemark-compile`
const TEST_FILES = ['packages/*/test/**/*.test.ts', 'examples/**/*.test.ts', 'testing/**/*.test.ts']

/** Tests wait more than they compute, so there are more of them than processors; their connections share one server. */
const FILES_AT_ONCE = Math.min(2 * availableParallelism() + 2, 8)

/** These wait for timeouts and restarts, up to a minute: begun last, they would be waited for alone. */
const BEGUN_FIRST = [
  'cli/test/faults',
  'test/postgres/silence',
  'test/silence',
  'conformance/suspects',
  'test/whole/',
  'test/crash/',
]

/** Minutes of clicking, which `npm run test:web` does; `npm test` does the short ones beside them. */
const JOURNEYS = 'web/test/journeys/'
const IN_BROWSER = 'web/test/'

/** `TIDEMARK_TEST_FAST` leaves out their tests on S3, and a single file starts a server only if it is asked for. */
const isOnS3 = (file: string): boolean =>
  !fast && /pipeline\/test\/(storage|s3)\/|cli\/test\/s3|examples\/cluster/.test(file)

/** More than these are no chance. */
const MOST_RUN_AGAIN = 5

/** `npm run test:web` */
const isWeb = process.env.TIDEMARK_TEST_WEB === '1'

process.chdir(`${import.meta.dirname}/..`)
requireNode24()
const fast = process.argv.includes('--fast')
if (fast) process.env.TIDEMARK_TEST_FAST = '1'
const flags = process.argv.slice(2).filter(argument => argument.startsWith('--') && argument !== '--fast')
const files = findFiles(process.argv.slice(2).filter(argument => !argument.startsWith('--')))
process.exitCode = await runWithPostgres(process.env.TIDEMARK_TEST_POSTGRES_URL)

function requireNode24(): void {
  if (Number.parseInt(process.versions.node, 10) >= 24) return
  fail(
    `This is Node ${process.versions.node}, and Tidemark needs 24. npm ci installs one for the tests, and npm test ` +
      'uses it; to use it by hand, put node_modules/.bin first in your PATH.',
  )
}

function findFiles(filters: string[]): string[] {
  // Example projects install their own libraries: npm run test:package runs their tests.
  const found = globSync(TEST_FILES, { exclude: ['**/node_modules/**', 'examples/projects/**'] }).sort()
  const all = isWeb ? found.filter(file => file.startsWith('packages/web/')) : found
  const short = isWeb ? all : all.filter(file => !file.includes(JOURNEYS))
  if (filters.length === 0 && fast) return withoutSlow(short)
  if (filters.length === 0) return short
  return [...new Set(filters.flatMap(filter => matching(filter, all)))]
}

function withoutSlow(all: string[]): string[] {
  const stale = SLOW_TESTS.filter(part => !all.some(file => file.includes(part)))
  if (stale.length > 0) fail(`testing/slow-tests.ts names tests that no longer exist: ${stale.join(', ')}. Correct it.`)
  return all.filter(file => !SLOW_TESTS.some(part => file.includes(part)))
}

/** Flags such as --test-name-pattern are for the tests of single files. */
function inProcesses(paths: readonly string[]): string[] {
  const { entries, alone } = flags.length === 0 ? shareProcesses(paths) : { entries: [], alone: paths }
  const [begunFirst, rest] = [alone.filter(file => placeOf(file) !== -1), alone.filter(file => placeOf(file) === -1)]
  return [...begunFirst.toSorted((a, b) => placeOf(a) - placeOf(b)), ...entries, ...rest]
}

function placeOf(file: string): number {
  return BEGUN_FIRST.findIndex(part => file.includes(part))
}

function matching(filter: string, all: string[]): string[] {
  if (filter.endsWith('.ts') && existsSync(filter)) return [filter]
  const found = all.filter(file => file.includes(filter))
  if (found.length === 0) fail(`No test file has "${filter}" in its path. There are:\n${all.join('\n')}`)
  return found
}

function fail(message: string): never {
  console.error(message)
  process.exit(1)
}

async function runWithPostgres(url: string | undefined): Promise<number> {
  if (url !== undefined) return await runOnServerOfYours(url)
  await using first = await startPostgres()
  const { name: template } = await createTemplate(first.url)
  await first.stop()
  Object.assign(process.env, shareCluster({ ...first.binaries, dataDir: first.dataDir, template }))
  await using server = await startPostgres()
  await warmTemplate(server.url, template)
  return await runTests(server.url, template)
}

async function runOnServerOfYours(url: string): Promise<number> {
  await using template = await createTemplate(url)
  return await runTests(url, template.name)
}

async function runTests(url: string, template: string): Promise<number> {
  Object.assign(process.env, { TIDEMARK_TEST_POSTGRES_URL: url, TIDEMARK_TEST_TEMPLATE: template })
  await using _disturbance = process.env.TIDEMARK_TEST_DISTURBED === '1' ? disturb(url) : undefined
  await using _objects = files.some(isOnS3) && !skipWithoutRadosgw() ? shareObjectStore() : undefined
  await using _browser = files.some(file => file.includes(IN_BROWSER)) ? await shareBrowser() : undefined
  if (process.argv.length > 2) return await runFiles(inProcesses(files), FILES_AT_ONCE)
  using folder = temporaryFolder()
  const list = join(folder.path, 'failed')
  const code = await runFiles(inProcesses(files), FILES_AT_ONCE, [
    ...['--test-reporter=spec', '--test-reporter-destination=stdout'],
    ...[`--test-reporter=${import.meta.dirname}/failed-files.ts`, `--test-reporter-destination=${list}`],
  ])
  const failed = existsSync(list) ? readFileSync(list, 'utf8').split('\n').filter(Boolean) : []
  if (code !== 1 || failed.length === 0 || failed.length > MOST_RUN_AGAIN) return code
  // A file without tests of its own would pass, and hide what failed.
  if (!failed.every(file => files.includes(file))) return code
  console.log(`\nRunning again, one at a time, what failed:\n${failed.join('\n')}\n`)
  const second = await runFiles(failed, 1)
  if (second === 0) console.log(`\nUnsteady: failed at first, and passed when run again:\n${failed.join('\n')}`)
  return second
}

/** Until here a signal ends this process, and the watchdog clears up. From here on it ends the runner first. */
async function runFiles(paths: readonly string[], atOnce: number, reporters: readonly string[] = []): Promise<number> {
  // A test that hangs is a failure, not a run without end.
  const runnerFlags = ['--test', `--test-concurrency=${atOnce}`, '--test-timeout=240000', ...reporters, ...flags]
  const runner = spawn(process.execPath, ['--conditions=tidemark-source', ...runnerFlags, ...paths], {
    env: { NODE_COMPILE_CACHE, ...process.env },
    stdio: 'inherit',
  })
  process.on('SIGINT', () => runner.kill('SIGINT'))
  process.on('SIGTERM', () => runner.kill('SIGTERM'))
  process.on('SIGHUP', () => runner.kill('SIGTERM')) // At a SIGHUP the runner ends without ending its test files.
  if (runner.pid) watchProcess(runner.pid, 'SIGTERM')
  const [code, signal] = await once(runner, 'exit')
  if (runner.pid) unwatchProcess(runner.pid)
  return code ?? 128 + constants.signals[signal as NodeJS.Signals]
}
