import { join } from 'node:path'
import {
  type ConfigChoice,
  isRunId,
  type Keep,
  makeRunId,
  parseBytes,
  parseKeep,
  type StartedPipeline,
  startPipeline,
} from '@tidemark/pipeline'
import type { Logger, Tidemark } from 'tidemark'
import type { Surroundings } from '../command.ts'
import { UsageError } from '../errors.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import { type Given, present } from '../given.ts'
import { dataFolderOf } from '../runs/data-folder.ts'
import { configFileOf, onlyOf, runOf } from './config-choice.ts'
import { displayFor, showProgress } from './progress-display.ts'
import { RecentProblems } from './recent-problems.ts'

const SMALLEST_DISK = 1e6

/** Ctrl-C is the normal way to end it: exit code 0, unless something failed. */
export async function start(given: Given, surroundings: Surroundings): Promise<ExitCode> {
  const { output, interrupted } = surroundings
  const choice = choiceOf(given)
  const server = given.flag('no-server') ? undefined : await serverOf(given, surroundings)
  const display = displayFor(output)
  const problems = new RecentProblems(text => display.problem(text))
  await using started = await startPipeline({ ...choice, logger: problems.logger, interrupted })
  if (started === null) return EXIT.done
  const { pipeline, runId } = started
  const topics = await started.topics()
  if (topics !== null) {
    await using served = await server?.(started, topics, problems.logger)
    await using _demonstration = await demonstrationOf(given, choice, topics, problems.logger)
    const show = async (): Promise<void> => display.progress(await pipeline.progress(), problems.recent)
    display.begun({ runId, url: served?.url, configFile: choice.configFile })
    const done = new AbortController()
    const showing = showProgress(show, display.everyMs, done.signal)
    try {
      await started.over()
    } finally {
      done.abort()
      await showing
    }
    await pipeline.services.stop()
    await show()
  }
  await pipeline.stop()
  const totals = topics === null ? undefined : await started.totals()
  if (totals !== undefined) display.ended(totals)
  return started.hasFailed ? EXIT.failed : EXIT.done
}

/** Only with the default pipeline, for visitors of its page. */
async function demonstrationOf(
  given: Given,
  { configFile, dataFolder }: ConfigChoice,
  topics: Tidemark | undefined,
  logger: Logger,
): Promise<AsyncDisposable | undefined> {
  const isUnwanted = ['no-demo', 'no-server'].some(name => given.flag(name)) || given.whole('ticks') !== undefined
  if (isUnwanted || topics === undefined || configFile !== undefined || given.text('ingest') !== undefined)
    return undefined
  const { demonstrate } = await import('../demo/demonstration.ts')
  return await demonstrate(topics, `sqlite:${join(dataFolder, 'topics.db')}`, logger)
}

const choiceOf = (given: Given): ConfigChoice => ({
  ingestedRun: ingestedRunOf(given),
  configFile: configFileOf(given),
  dataFolder: dataFolderOf(given),
  only: onlyOf(given),
  run: runOf(given),
  newRun: given.flag('new'),
  ticks: given.whole('ticks'),
  maxDisk: maxDiskOf(given),
  keep: keepOf(given),
})

/** Its options are read and validated before anything is opened. */
async function serverOf(given: Given, surroundings: Surroundings) {
  const { loggerBeside, openServer, serverChoice } = await import('./open-server.ts')
  const choice = serverChoice(given, surroundings)
  const dataFolder = dataFolderOf(given)
  return async (started: StartedPipeline, topics: Tidemark | undefined, shown: Logger) => {
    const { pipeline, indexes, ingest } = started
    const environmentStrategy = await started.environmentStrategies()
    const logger = loggerBeside(shown, choice, surroundings, dataFolder)
    const what = { pipeline, environmentStrategy, logger, ...present({ topics, indexes, ingest }) }
    return await openServer(choice, what, dataFolder)
  }
}

/** Checked here, so that the error names the option as it was typed. */
function maxDiskOf(given: Given): string | undefined {
  const text = given.text('max-disk')
  if (text !== undefined && text !== 'none') parseBytes('--max-disk', text, { min: SMALLEST_DISK, none: true })
  return text
}

function keepOf(given: Given): Keep | undefined {
  const text = given.text('keep')
  if (text !== undefined) parseKeep('--keep', text)
  return text as Keep | undefined
}

function ingestedRunOf(given: Given): string | undefined {
  const run = given.text('ingest')
  if (run === undefined) return undefined
  const other = ['new', 'ticks', 'run', 'no-server'].find(name => given.flag(name) || given.text(name) !== undefined)
  if (other !== undefined)
    throw new UsageError(`--ingest can't be combined with --${other}: it accepts ticks over HTTP until Ctrl-C`)
  if (run === 'new') return makeRunId()
  if (!isRunId(run)) throw new UsageError(`--ingest must be a run id or 'new', not '${run}'`)
  return run
}
