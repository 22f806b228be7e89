/** Runs test files one after another in a copy of the tree, and stops at the first test that fails. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { unwatchProcess, watchProcess } from '../watchdog.ts'
import { FAILED, PASSED } from './first-failure.ts'
import type { Mutant } from './mutant.ts'

export type TestRun = {
  /** The first test that failed, or how its process ended; undefined if all passed. */
  readonly failure: { readonly file: string; readonly test: string } | undefined
}

type FileRun = { readonly failure: string | undefined; readonly passed: number }

type Options = Pick<Mutant, 'tests' | 'only' | 'sqliteOnly'> & { readonly timeoutMs: number }

export async function runTests(root: string, { tests, only, sqliteOnly, timeoutMs }: Options): Promise<TestRun> {
  const deadline = performance.now() + timeoutMs
  let passed = 0
  for (const file of testFiles(root, tests)) {
    const run = await runFile(root, file, { only, sqliteOnly }, deadline - performance.now())
    passed += run.passed
    if (run.failure !== undefined) return { failure: { file, test: run.failure } }
  }
  if (passed === 0) throw new Error(`No test of ${tests.join(' ')} ran${only ? ` with '${only}' in its name` : ''}.`)
  return { failure: undefined }
}

export function testFiles(root: string, words: readonly string[]): string[] {
  const all = globSync(['packages/*/test/**/*.test.ts', 'testing/**/*.test.ts'], {
    cwd: root,
    exclude: ['**/node_modules/**'],
  }).sort()
  return words.flatMap(word => {
    const found = all.filter(file => file.includes(word))
    if (found.length === 0)
      throw new Error(`No test file has '${word}' in its path. Update 'tests' in testing/mutants.`)
    return found
  })
}

async function runFile(
  root: string,
  file: string,
  { only, sqliteOnly }: Pick<Options, 'only' | 'sqliteOnly'>,
  timeoutMs: number,
): Promise<FileRun> {
  const flags = ['--conditions=tidemark-source', `--test-reporter=${import.meta.dirname}/first-failure.ts`]
  if (only !== undefined) flags.push(`--test-name-pattern=${only}`)
  const child = spawn(process.execPath, [...flags, file], {
    cwd: root,
    env: {
      ...process.env,
      NODE_COMPILE_CACHE: join(root, '.compiled'),
      ...(sqliteOnly && { TIDEMARK_TEST_FAST: '1' }),
    },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  return await outcomeOf(child, timeoutMs)
}

async function outcomeOf(child: ChildProcess, timeoutMs: number): Promise<FileRun> {
  let passed = 0
  let failure: string | undefined
  if (child.pid) watchProcess(child.pid, 'SIGTERM')
  const end = (why: string): void => {
    failure ??= why
    // SIGKILL, because a broken program may ignore a SIGTERM. The test's own watchdog clears up behind it.
    child.kill('SIGKILL')
  }
  const timer = setTimeout(() => end('(hung)'), Math.max(0, timeoutMs))
  if (child.stdout) {
    createInterface(child.stdout).on('line', line => {
      if (line.startsWith(PASSED)) passed++
      if (line.startsWith(FAILED)) end(line.slice(FAILED.length))
    })
  }
  const [code, signal] = await once(child, 'close')
  clearTimeout(timer)
  if (child.pid) unwatchProcess(child.pid)
  if (failure === undefined && code !== 0) failure = `(the test process ended with ${code ?? signal})`
  return { failure, passed }
}
