/** Runs a test file in a copy of the tree, and stops at the first test that fails. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { unwatchProcess, watchProcess } from '../watchdog.ts'
import { FAILED, PASSED } from './first-failure.ts'
import type { Mutant } from './mutant.ts'

export type FileRun = {
  /** The first test that failed, or how the process ended; undefined if all passed. */
  readonly failure: string | undefined
  readonly passed: number
  readonly milliseconds: number
}

/** The failure of a run that was ended because it took too long. */
export const HUNG = '(hung)'

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

export async function runFile(
  root: string,
  file: string,
  { only, sqliteOnly }: Pick<Mutant, 'only' | 'sqliteOnly'>,
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
  const started = performance.now()
  if (child.pid) watchProcess(child.pid, 'SIGTERM')
  const end = (why: string): void => {
    failure ??= why
    // SIGKILL, because a broken program may ignore a SIGTERM. The test's own watchdog clears up behind it.
    child.kill('SIGKILL')
  }
  const timer = setTimeout(() => end(HUNG), Math.max(0, timeoutMs))
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
  return { failure, passed, milliseconds: Math.round(performance.now() - started) }
}
