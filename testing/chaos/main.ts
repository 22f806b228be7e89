/** npm run chaos: see `options.ts` for what it can be asked, and docs/reliability.md for what it does. */

import { checkMutants } from './mutants/check.ts'
import { MUTANTS } from './mutants/list.ts'
import { type ChaosOptions, faultsFor, helpText, parseOptions } from './options.ts'
import { ProgressLine, printPaths, printRun, writeJson } from './report.ts'
import { type RunOptions, type RunResult, runOnce } from './run.ts'
import { shrink } from './shrink.ts'

const interrupted = new AbortController()
process.once('SIGINT', () => {
  console.log('\nStopping; press Ctrl-C again to end at once')
  interrupted.abort()
  process.once('SIGINT', () => process.exit(130))
})

process.exitCode = await main()

async function main(): Promise<number> {
  let options: ChaosOptions
  try {
    options = parseOptions(process.argv.slice(2))
  } catch (error) {
    console.error((error as Error).message)
    return 64
  }
  if (options.help) {
    console.log(helpText(MUTANTS))
    return 0
  }
  if (options.mutants !== false) return await checkMutants(options.mutants, interrupted.signal)
  return await runAll(options)
}

async function runAll(options: ChaosOptions): Promise<number> {
  const results: RunResult[] = []
  try {
    for (const seed of options.seeds) {
      for (const engine of options.engines) {
        const { seconds, events } = options
        const run = { engine, seed, seconds, faults: faultsFor(engine, options.faults), ...(events && { events }) }
        const result = await runShown(run)
        results.push(result)
        printRun(result)
        if (result.violations.length > 0) {
          const smallest = options.shrink ? await shrink(result, events => runShown({ ...run, events })) : result
          console.log(`  npm run chaos -- ${again(smallest, options)}`)
        }
      }
    }
  } catch (error) {
    if (!interrupted.signal.aborted) throw error
  }
  if (results.length === 0) return 130
  printPaths(results)
  writeJson(options.json, { at: new Date().toISOString(), results })
  return interrupted.signal.aborted ? 130 : exitCodeOf(results)
}

async function runShown(run: Omit<RunOptions, 'signal' | 'onProgress'>): Promise<RunResult> {
  const progress = new ProgressLine(`${run.engine} seed ${run.seed}`)
  try {
    return await runOnce({ ...run, signal: interrupted.signal, onProgress: text => progress.show(text) })
  } finally {
    progress.end()
  }
}

function exitCodeOf(results: readonly RunResult[]): number {
  if (results.some(({ violations }) => violations.length > 0)) return 1
  const uncounted = results.filter(({ unreached }) => unreached.length > 0)
  if (uncounted.length > 0) console.log('A rare path never ran: these results do not count')
  return uncounted.length > 0 ? 2 : 0
}

/** The command that repeats it. */
function again({ engine, seed, events }: RunResult, { seconds, faults }: ChaosOptions): string {
  const only = faults === undefined ? '' : ` --faults ${faults.join(',')}`
  return `--engine ${engine} --seed ${seed} --seconds ${seconds}${only} --events ${events.map(({ number }) => number).join(',')}`
}
