/**
 * Runs the tests that should notice a mutant until one fails. Each file first runs without the mutant: what fails there
 * proves nothing, and its longest test is the measure of a hung run.
 */
import { apply, whyNotApplicable } from './apply.ts'
import type { Baseline } from './baseline.ts'
import type { Listed } from './mutant.ts'
import type { Result, Verdict } from './result.ts'
import { type FileRun, HUNG, runFile, testFiles } from './run-tests.ts'

/** No test of a hung run ends for this many times the longest test without the mutant, and at least LEAST_LIMIT_MS. */
const TIMES_BASELINE = 4
const LEAST_LIMIT_MS = 20_000

export async function tryOne(root: string, mutant: Listed, baseline: Baseline): Promise<Result> {
  const started = performance.now()
  const result = (verdict: Verdict, detail: string): Result => {
    const seconds = Math.round((performance.now() - started) / 100) / 10
    return { area: mutant.area, name: mutant.name, verdict, detail, seconds }
  }
  const problem = whyNotApplicable(root, mutant)
  if (problem !== undefined) return result('does not apply', problem)
  let passed = 0
  for (const file of testFiles(root, mutant.tests)) {
    const without = await baseline.first(file, mutant)
    if (without.failure !== undefined) return result('fails without it', `${file}: ${without.failure}`)
    const run = await runBroken(root, mutant, file, { baseline, silenceMs: without.silenceMs })
    if (run === 'too busy') return result('fails without it', `${file}: takes too long without it too`)
    if (run.failure !== undefined) return result('caught', run.failure)
    passed += run.passed
  }
  if (passed > 0) return result('survived', `${mutant.tests.join(' ')} passed`)
  return result('does not apply', `No test of ${mutant.tests.join(' ')} ran.`)
}

type Expected = { readonly baseline: Baseline; readonly silenceMs: number }

/**
 * A run that hangs may be one that a busy machine has slowed down. So it counts only if the tests up to the one that
 * hangs pass well within the limit right afterwards; otherwise the limit grows, once.
 */
async function runBroken(
  root: string,
  mutant: Listed,
  file: string,
  { baseline, silenceMs }: Expected,
): Promise<FileRun | 'too busy'> {
  let limit = limitOf(silenceMs)
  for (let attempt = 1; attempt <= 2; attempt++) {
    const run = await runWithDefect(root, mutant, file, limit)
    if (run.failure !== HUNG) return run
    const without = await baseline.now(file, mutant, { silenceMs: 2 * limit, enough: run.passed + 1 })
    if (without.failure === undefined && without.silenceMs <= limit / 2) return run
    limit = Math.max(limit, limitOf(without.silenceMs))
  }
  return 'too busy'
}

const limitOf = (silenceMs: number): number => Math.max(LEAST_LIMIT_MS, TIMES_BASELINE * silenceMs)

async function runWithDefect(root: string, mutant: Listed, file: string, silenceMs: number): Promise<FileRun> {
  using _defect = apply(root, mutant)
  return await runFile(root, file, mutant, { silenceMs })
}
