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
  /** The longest time in which no test ended. */
  readonly silenceMs: number
}

export type Limits = {
  /** A run in which no test ends for so long is ended as HUNG. */
  readonly silenceMs: number
  /** A run in which so many tests have passed is ended as passed (default: none). */
  readonly enough?: number
}

/** The failure of a run that was ended because nothing happened any more. */
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
  limits: Limits,
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
  return await outcomeOf(child, limits)
}

async function outcomeOf(child: ChildProcess, { silenceMs, enough = Infinity }: Limits): Promise<FileRun> {
  let passed = 0
  let failure: string | undefined
  let longest = 0
  let last = performance.now()
  if (child.pid) watchProcess(child.pid, 'SIGTERM')
  const end = (why?: string): void => {
    failure ??= why
    // SIGKILL, because a broken program may ignore a SIGTERM. The test's own watchdog clears up behind it.
    child.kill('SIGKILL')
  }
  const timer = setTimeout(() => end(HUNG), silenceMs)
  const testEnded = (): void => {
    timer.refresh()
    const now = performance.now()
    longest = Math.max(longest, now - last)
    last = now
  }
  if (child.stdout) {
    createInterface(child.stdout).on('line', line => {
      testEnded()
      if (line.startsWith(PASSED) && ++passed >= enough) end()
      if (line.startsWith(FAILED)) end(line.slice(FAILED.length))
    })
  }
  const [code, signal] = await once(child, 'close')
  testEnded()
  clearTimeout(timer)
  if (child.pid) unwatchProcess(child.pid)
  if (failure === undefined && code !== 0 && passed < enough)
    failure = `(the test process ended with ${code ?? signal})`
  return { failure, passed, silenceMs: Math.round(longest) }
}
