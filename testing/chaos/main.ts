/** npm run chaos: see `options.ts` for what it can be asked, and docs/reliability.md for what it does. */

import { checkMutants } from './mutants/check.ts'
import { MUTANTS } from './mutants/list.ts'
import { type ChaosOptions, faultsFor, helpText, parseOptions } from './options.ts'
import { type PipelineResult, runPipeline } from './pipeline/run-pipeline.ts'
import { ProgressLine, printPaths, printPipeline, printRun, writeJson } from './report.ts'
import { type RunOptions, type RunResult, runOnce } from './run.ts'
import { shrink } from './shrink.ts'
import type { Engine } from './world.ts'

/** npm passes a Ctrl-C on to processes that the terminal has told already. */
const SAME_KEY_MS = 1_000

const interrupted = new AbortController()
let interruptedAt = 0
process.on('SIGINT', () => {
  if (interrupted.signal.aborted && performance.now() - interruptedAt < SAME_KEY_MS) return
  if (interrupted.signal.aborted) process.exit(130)
  console.log('\nStopping; press Ctrl-C again to end at once')
  interruptedAt = performance.now()
  interrupted.abort()
})

process.exitCode = await main()
// A fault that was interrupted may still wait for something. And without this, Node waited in its clean-up without end (and
// with a busy processor) for a request on a socket that the network of a run had reset.
process.exit()

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
  const pipelines: PipelineResult[] = []
  try {
    for (const seed of options.seeds) {
      for (const engine of options.engines) {
        if (options.scenarios.includes('topics')) results.push(await runTopics(options, engine, seed))
        if (options.scenarios.includes('pipeline')) pipelines.push(await runTurns(options, engine, seed))
      }
    }
  } catch (error) {
    if (!interrupted.signal.aborted) throw error
  }
  if (results.length > 0) printPaths(results)
  writeJson(options.json, { at: new Date().toISOString(), results, pipelines })
  return interrupted.signal.aborted ? 130 : exitCodeOf(results, pipelines)
}

async function runTopics(options: ChaosOptions, engine: Engine, seed: number): Promise<RunResult> {
  const { seconds, events } = options
  const run = { engine, seed, seconds, faults: faultsFor(engine, options.faults), ...(events && { events }) }
  const result = await shown(`${engine} seed ${seed}`, shared => runOnce({ ...run, ...shared }))
  printRun(result)
  if (result.violations.length > 0) {
    console.log(`  npm run chaos -- ${again(result, options)}`)
    if (options.shrink) await shrinkRun(result, run, options)
  }
  return result
}

async function shrinkRun(
  result: RunResult,
  run: Omit<RunOptions, 'signal' | 'onProgress'>,
  options: ChaosOptions,
): Promise<void> {
  const runWith = (events: readonly number[]): Promise<RunResult> =>
    shown(`${run.engine} seed ${run.seed}`, shared => runOnce({ ...run, events, ...shared }))
  const smallest = await shrink(result, runWith)
  console.log(`  npm run chaos -- ${again(smallest, options)}`)
}

async function runTurns({ seconds }: ChaosOptions, engine: Engine, seed: number): Promise<PipelineResult> {
  const result = await shown(`pipeline ${engine} seed ${seed}`, shared =>
    runPipeline({ engine, seed, seconds, ...shared }),
  )
  printPipeline(result)
  if (result.violations.length > 0) {
    console.log(`  npm run chaos -- --scenario pipeline --engine ${engine} --seed ${seed} --seconds ${seconds}`)
  }
  return result
}

type Shared = Pick<RunOptions, 'signal' | 'onProgress'>

async function shown<Result>(name: string, run: (shared: Shared) => Promise<Result>): Promise<Result> {
  const progress = new ProgressLine(name)
  try {
    return await run({ signal: interrupted.signal, onProgress: text => progress.show(text) })
  } finally {
    progress.end()
  }
}

function exitCodeOf(results: readonly RunResult[], pipelines: readonly PipelineResult[]): number {
  if ([...results, ...pipelines].some(({ violations }) => violations.length > 0)) return 1
  const uncounted = results.filter(({ unreached }) => unreached.length > 0)
  if (uncounted.length > 0) console.log('A rare path never ran: these results do not count')
  return uncounted.length > 0 ? 2 : 0
}

/** The command that repeats it. */
function again({ engine, seed, events }: RunResult, { seconds, faults }: ChaosOptions): string {
  const only = faults === undefined ? '' : ` --faults ${faults.join(',')}`
  return `--engine ${engine} --seed ${seed} --seconds ${seconds}${only} --events ${events.map(({ number }) => number).join(',')}`
}
