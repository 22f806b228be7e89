/** npm run mutants: how many small deliberate defects the tests notice. `--help` lists the options. */
import { join } from 'node:path'
import { startPostgres } from '../postgres-server.ts'
import { shareCluster } from '../shared-cluster.ts'
import { createTemplate } from '../template-database.ts'
import { apply, whyNotApplicable } from './apply.ts'
import { type Asked, HELP, parseArguments } from './arguments.ts'
import { Baseline } from './baseline.ts'
import { AREAS } from './list.ts'
import type { Mutant } from './mutant.ts'
import { report, resultLine, showProgress } from './report.ts'
import { isSound, percent, type Result, readResults, total, type Verdict, writeResults } from './result.ts'
import { runTests, type TestRun } from './run-tests.ts'
import { copyTree } from './tree-copy.ts'

const ROOT = join(import.meta.dirname, '../..')
const REQUIRED_PERCENT = 95
/** A defect that makes the tests hang is caught as well: `npm test` ends a test that takes this long. */
const TIMEOUT_MS = 240_000

type Listed = Mutant & { readonly area: string }

process.exitCode = await main(process.argv.slice(2))

async function main(args: string[]): Promise<number> {
  const asked = understand(args)
  if (asked === undefined) return 2
  const mutants = selected(asked.only)
  if (asked.help) console.log(HELP)
  else if (mutants.length === 0) console.error(`No mutant has ${asked.only.join(' or ')} in its name, area or file.`)
  else if (asked.list) for (const mutant of mutants) console.log(described(mutant))
  else return await tryAll(mutants, asked)
  return asked.help || mutants.length > 0 ? 0 : 2
}

function understand(args: string[]): Asked | undefined {
  try {
    return parseArguments(args)
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${HELP}`)
    return undefined
  }
}

function selected(words: readonly string[]): Listed[] {
  const all = AREAS.flatMap(({ name: area, mutants }) =>
    mutants.map(mutant => ({ ...mutant, area, name: `${area}: ${mutant.name}` })),
  )
  if (words.length === 0) return all
  return all.filter(({ name, area, file }) => words.some(word => [name, area, file].some(text => text.includes(word))))
}

function described({ name, file, tests, only }: Listed): string {
  return `${name}\n    ${file}\n    ${tests.join(' ')}${only ? ` (${only})` : ''}`
}

async function tryAll(mutants: readonly Listed[], asked: Asked): Promise<number> {
  const path = asked.json ?? join(import.meta.dirname, 'results.json')
  const names = new Set(mutants.map(({ name }) => name))
  const results = asked.resume ? readResults(path).filter(({ name }) => names.has(name)) : []
  const waiting = mutants.filter(({ name }) => !results.some(result => result.name === name))
  await using first = await startPostgres()
  const { name: template } = await createTemplate(first.url)
  await first.stop()
  Object.assign(process.env, shareCluster({ ...first.binaries, dataDir: first.dataDir, template }))
  await using server = await startPostgres()
  Object.assign(process.env, { TIDEMARK_TEST_POSTGRES_URL: server.url, TIDEMARK_TEST_TEMPLATE: template })
  using whole = copyTree(ROOT)
  const baseline = new Baseline(whole.root, TIMEOUT_MS, asked.baseline)
  const started = performance.now()
  const work = async (): Promise<void> => {
    using copy = copyTree(ROOT)
    for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
      const result = await tryOne(copy.root, mutant, baseline)
      results.push(result)
      writeResults(path, results)
      console.log(resultLine(result))
      showProgress(results, mutants.length, performance.now() - started)
    }
  }
  await Promise.all(Array.from({ length: asked.jobs }, work))
  console.log(`\n${report(results)}\n\nResults: ${path}`)
  return results.every(isSound) && percent(total(results)) >= REQUIRED_PERCENT ? 0 : 1
}

async function tryOne(root: string, mutant: Listed, baseline: Baseline): Promise<Result> {
  const started = performance.now()
  const result = (verdict: Verdict, detail = ''): Result => {
    const seconds = Math.round((performance.now() - started) / 100) / 10
    return { area: mutant.area, name: mutant.name, verdict, detail, seconds }
  }
  const problem = whyNotApplicable(root, mutant)
  if (problem !== undefined) return result('does not apply', problem)
  const { failure } = await runBroken(root, mutant)
  if (failure === undefined) return result('survived', `${mutant.tests.join(' ')} passed`)
  const without = await baseline.failure(failure.file, mutant)
  if (without !== undefined) return result('fails without it', `${failure.file}: ${without}`)
  return result('caught', failure.test)
}

async function runBroken(root: string, mutant: Listed): Promise<TestRun> {
  using _defect = apply(root, mutant)
  return await runTests(root, { ...mutant, timeoutMs: TIMEOUT_MS })
}
