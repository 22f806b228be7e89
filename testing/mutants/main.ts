/** npm run mutants: how many small deliberate defects the tests notice. `--help` lists the options. */
import { join } from 'node:path'
import { startPostgres } from '../postgres-server.ts'
import { shareCluster } from '../shared-cluster.ts'
import { createTemplate } from '../template-database.ts'
import { type Asked, HELP, parseArguments } from './arguments.ts'
import { Baseline } from './baseline.ts'
import { AREAS } from './list.ts'
import type { Listed } from './mutant.ts'
import { report, resultLine, showProgress } from './report.ts'
import { isSound, percent, readResults, total, writeResults } from './result.ts'
import { copyTree } from './tree-copy.ts'
import { tryOne } from './try-one.ts'

const ROOT = join(import.meta.dirname, '../..')
const REQUIRED_PERCENT = 95

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
  const kept = asked.resume ? readResults(path) : { results: [], baselines: {} }
  const results = kept.results.filter(result => names.has(result.name) && isSound(result))
  const waiting = mutants.filter(({ name }) => !results.some(result => result.name === name))
  await using first = await startPostgres()
  const { name: template } = await createTemplate(first.url)
  await first.stop()
  Object.assign(process.env, shareCluster({ ...first.binaries, dataDir: first.dataDir, template }))
  await using server = await startPostgres()
  Object.assign(process.env, { TIDEMARK_TEST_POSTGRES_URL: server.url, TIDEMARK_TEST_TEMPLATE: template })
  using whole = copyTree(ROOT)
  const baseline = new Baseline(whole.root, kept.baselines)
  const started = performance.now()
  const work = async (): Promise<void> => {
    using copy = copyTree(ROOT)
    while (performance.now() - started < asked.minutes * 60_000) {
      const mutant = waiting.shift()
      if (mutant === undefined) break
      const result = await tryOne(copy.root, mutant, baseline)
      results.push(result)
      writeResults(path, results, baseline.kept)
      console.log(resultLine(result))
      showProgress(results, mutants.length, performance.now() - started)
    }
  }
  await Promise.all(Array.from({ length: asked.jobs }, work))
  console.log(`\n${report(results)}\n\nResults: ${path}`)
  if (waiting.length > 0) console.log(`${waiting.length} not tried: go on with --resume`)
  return waiting.length === 0 && results.every(isSound) && percent(total(results)) >= REQUIRED_PERCENT ? 0 : 1
}
